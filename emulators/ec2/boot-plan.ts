/** What the user data of a Tidewheel host would do, read from the script: run here, it would shut this machine down. Pure. */

export interface BootPlan {
  /** What it exports. */
  readonly environment: Readonly<Record<string, string>>;
  /** s3://… of job.json. */
  readonly jobUri: string;
  /** s3://… of the agent's files, the folder below /opt/ml that gets them, and the one that runs: 0.1.0 fetches it alone. */
  readonly agentUri: string;
  readonly agentFolder: string;
  readonly agentPath: string;
}

/** As shellQuote writes: in single quotes, one of them as '\''. */
const QUOTED = String.raw`('(?:[^']|'\\'')*')`;
const EXPORT = new RegExp(`^export (\\w+)=${QUOTED}$`, 'gm');
const FETCH = new RegExp(`^ *aws s3 cp --only-show-errors (?:--recursive )?${QUOTED} ${QUOTED}`, 'm');
const RUN = new RegExp(`^${QUOTED} ${QUOTED} --host$`, 'm');

const unquote = (text = ''): string => text.slice(1, -1).replaceAll(String.raw`'\''`, "'");

/** Undefined for a script that functions/launch/ec2/user-data.ts of this release or 0.1.0 has not made. */
export function readUserData(base64: string): BootPlan | undefined {
  const script = Buffer.from(base64, 'base64').toString('utf8');
  const [, agentUri, agentFolder] = FETCH.exec(script) ?? [];
  const [, , agentPath] = RUN.exec(script) ?? [];
  if (agentUri === undefined || agentPath === undefined) return undefined;
  const environment = Object.fromEntries(
    Array.from(script.matchAll(EXPORT), ([, name = '', value]) => [name, unquote(value)]),
  );
  const jobUri = environment['TIDEWHEEL_JOB_URI'];
  if (jobUri === undefined) return undefined;
  return {
    environment,
    jobUri,
    agentUri: unquote(agentUri),
    agentFolder: unquote(agentFolder),
    agentPath: unquote(agentPath),
  };
}
