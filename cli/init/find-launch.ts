/** Finds the script, notebook or task that starts a job, and the code that it sends. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import type { Surroundings } from '../command/context.ts';
import type { FoundJob } from './job.ts';
import { isStarted, jobOfCall, mayLaunch, readLaunch } from './launch.ts';
import { mayBeTask, readTasks } from './skypilot.ts';

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
  for (const name of names.filter((each) => LAUNCHERS.test(each)).slice(0, MOST_FILES)) {
    const isOne = isTask(name) ? mayBeTask : mayLaunch;
    if (isOne(await readFile(path.join(folder, name), 'utf8'))) found.push(name);
  }
  return found;
}

const LAUNCHERS = /\.(py|ipynb|ya?ml)$/;
const isTask = (name: string): boolean => /\.ya?ml$/.test(name);

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
  { folder, names }: Folder,
  files: readonly string[],
  wanted: string | undefined,
  surroundings: Pick<Surroundings, 'environment' | 'clone'>,
): Promise<FoundLaunch | undefined> {
  const [, file = wanted, line] = /^(.+):([\w, ]+)$/.exec(wanted ?? '') ?? [];
  const jobs: Found[] = [];
  for (const name of file === undefined ? files : [path.posix.normalize(file)])
    jobs.push(...(await jobsIn(path.join(folder, name), name, names, surroundings)));
  const started = jobs.filter((each) => each.isStarted);
  const meant = (started.length > 0 ? started : jobs).filter(
    (each) => line === undefined || each.line === line,
  );
  const [only, other] = meant;
  if (other !== undefined) {
    const places = meant.slice(0, 5).map((each) => `${each.name}:${each.line}`);
    throw new UsageError([`several jobs are started: name one with --launch ${places.join(', or ')}`]);
  }
  if (only !== undefined) return { file: only.name, job: only.job };
  if (wanted === undefined) return undefined;
  throw new UsageError([`--launch is "${wanted}": no job is started there`]);
}

interface Found {
  readonly name: string;
  /** Its number, or where in a notebook. */
  readonly line: string;
  readonly isStarted: boolean;
  readonly job: FoundJob;
}

async function jobsIn(
  file: string,
  name: string,
  names: readonly string[],
  surroundings: Pick<Surroundings, 'environment' | 'clone'>,
): Promise<readonly Found[]> {
  const found = isTask(name)
    ? (await readTasks(file, name, names)).map((task) => ({ ...task, isStarted: true }))
    : (await readLaunch(file, surroundings)).map((call) => ({
        line: call.line,
        isStarted: isStarted(call),
        job: jobOfCall(call, name),
      }));
  return found.map((each) => ({ ...each, name, line: each.line.replace(/^line /, '') }));
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
  const { entryPoint } = job;
  // The launcher knows no folder for an archive in S3.
  const source = job.source?.startsWith('s3://') === true ? undefined : job.source;
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
