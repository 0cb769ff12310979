/** A folder for a campaign of trainings on this machine: removed at its end, which Ctrl-C brings about too. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { writeAgent } from '../../functions/aws/lambda/agent.ts';

export const root = join(import.meta.dirname, '../..');
/** Packages and source archives, kept between campaigns. */
export const CACHE = join(root, '.tidewheel/scripts');

export interface WorkFolder {
  readonly work: string;
  readonly agentFile: string;
  /** Aborted when a person ends the campaign. */
  readonly signal: AbortSignal;
}

export async function inWorkFolder<Result>(
  name: string,
  campaign: (means: WorkFolder) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stopping.abort(new Error('stopped')));
  const work = await mkdtemp(join(tmpdir(), `${name}-`));
  try {
    const agentFile = join(work, 'agent.pyz');
    await writeAgent(root, agentFile);
    await mkdir(CACHE, { recursive: true });
    return await campaign({ work, agentFile, signal: stopping.signal });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** A path as a person gave it where npm was called. */
export const fromCaller = (path: string): string => resolve(process.env['INIT_CWD'] ?? process.cwd(), path);

/** Relative to where a person called npm. */
export const writeJson = (path: string, content: unknown): Promise<void> =>
  writeFile(fromCaller(path), `${JSON.stringify(content, null, 2)}\n`);
