/** What the user data of a Tidewheel host would do, read from the script: run here, it would shut this machine down. Pure. */

export interface BootPlan {
  /** What it exports. */
  readonly environment: Readonly<Record<string, string>>;
  /** s3://… of job.json. */
  readonly jobUri: string;
  /** s3://… of the agent, and where the script puts it below /opt/ml. */
  readonly agentUri: string;
  readonly agentPath: string;
}

/** As shellQuote writes: in single quotes, one of them as '\''. */
const QUOTED = String.raw`('(?:[^']|'\\'')*')`;
const EXPORT = new RegExp(`^export (\\w+)=${QUOTED}$`, 'gm');
const FETCH = new RegExp(`^ *aws s3 cp --only-show-errors ${QUOTED} ${QUOTED}`, 'm');

const unquote = (text = ''): string => text.slice(1, -1).replaceAll(String.raw`'\''`, "'");

/** undefined for a script that functions/core/launch/ec2/user-data.ts has not made. */
export function readUserData(base64: string): BootPlan | undefined {
  const script = Buffer.from(base64, 'base64').toString('utf8');
  const [, agentUri, agentPath] = FETCH.exec(script) ?? [];
  if (agentUri === undefined) return undefined;
  const environment = Object.fromEntries(
    Array.from(script.matchAll(EXPORT), ([, name = '', value]) => [name, unquote(value)]),
  );
  const jobUri = environment['TIDEWHEEL_JOB_URI'];
  if (jobUri === undefined) return undefined;
  return { environment, jobUri, agentUri: unquote(agentUri), agentPath: unquote(agentPath) };
}
