/** Finds the script or notebook that starts a SageMaker job, and the code that it sends. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import type { Surroundings } from '../command/context.ts';
import type { FoundJob } from './job.ts';
import { jobOfCall, type LaunchCall, mayLaunch, readLaunch } from './launch.ts';

/** `init` reads the text of at most so many files. */
const MOST_FILES = 200;

interface Folder {
  readonly folder: string;
  /** Relative to it, with slashes. */
  readonly names: readonly string[];
}

/** Those that start jobs train nothing themselves. */
export async function launchersIn({ folder, names }: Folder): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of names.filter((each) => /\.(py|ipynb)$/.test(each)).slice(0, MOST_FILES))
    if (mayLaunch(await readFile(path.join(folder, name), 'utf8'))) found.push(name);
  return found;
}

export interface FoundLaunch {
  readonly file: string;
  readonly job: FoundJob;
}

/**
 * @param wanted a file, or `FILE:LINE` where it makes several estimators
 * @returns undefined where no file makes an estimator
 * @throws UsageError where a person has to say which is meant
 */
export async function findLaunch(
  { folder }: Folder,
  files: readonly string[],
  wanted: string | undefined,
  surroundings: Pick<Surroundings, 'environment' | 'clone'>,
): Promise<FoundLaunch | undefined> {
  const [, file = wanted, line] = /^(.+):([\w, ]+)$/.exec(wanted ?? '') ?? [];
  const calls: { readonly name: string; readonly call: LaunchCall }[] = [];
  for (const name of file === undefined ? files : [path.posix.normalize(file)])
    for (const call of await readLaunch(path.join(folder, name), surroundings)) calls.push({ name, call });
  const started = calls.filter(({ call }) =>
    call.methods.some(({ $call }) => $call !== 'set_hyperparameters'),
  );
  const meant = (started.length > 0 ? started : calls).filter(
    ({ call }) => line === undefined || call.line.replace(/^line /, '') === line,
  );
  const [only, other] = meant;
  if (other !== undefined) {
    const places = meant.slice(0, 5).map(({ name, call }) => `${name}:${call.line.replace(/^line /, '')}`);
    throw new UsageError([
      `several SageMaker jobs are started: name one with --launch ${places.join(', or ')}`,
    ]);
  }
  if (only !== undefined) return { file: only.name, job: jobOfCall(only.call, only.name) };
  if (wanted === undefined) return undefined;
  throw new UsageError([`--launch is "${wanted}": no estimator of the SageMaker SDK is made there`]);
}

interface Code {
  /** Relative to the project's folder; `.` is that one. */
  readonly source: string;
  /** Relative to the source. */
  readonly script: string | undefined;
  /** Relative to the project's folder. */
  readonly dependencies: readonly string[];
}

/** The SDK looks from where the launcher was started: its own folder, or the project's. */
export function codeOf(job: FoundJob, file: string, names: readonly string[]): Code {
  const { source, entryPoint } = job;
  const at = source === undefined ? path.posix.dirname(entryPoint ?? '') : source;
  const script = source === undefined ? path.posix.basename(entryPoint ?? '') : (entryPoint ?? '');
  const isThere = (place: string): boolean => names.some((name) => name.startsWith(`${place}/`));
  const placesOf = (named: string): readonly string[] =>
    [path.posix.dirname(file), '.'].map((from) => path.posix.join(from, named).replace(/(.)\/$/, '$1'));
  const found = placesOf(at).find((place) =>
    script === '' ? isThere(place) : names.includes(path.posix.join(place, script)),
  );
  const dependencies = job.dependencies.flatMap(
    (named) => placesOf(named).find((place) => names.includes(place) || isThere(place)) ?? [],
  );
  return {
    source: found ?? '.',
    script: found === undefined || script === '' ? undefined : path.posix.normalize(script),
    dependencies,
  };
}
