/** One start of the script, until it has saved something new or its time is over, and how it was ended. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import { DOCUMENT_FILES } from '@tidewheel/contract/files.ts';
import { type ProgressNote, progressNote } from '@tidewheel/contract/progress.ts';
import { readLines } from '@tidewheel/emulators/sagemaker/hosts/lines.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { startOnMachine, type Trial, type TrialHost } from './host.ts';
import { type Output, outputReader } from './output.ts';

/** The agent's note of the newest complete checkpoint. */
export type Note = Pick<ProgressNote, 'step' | 'totalSteps' | 'checkpoint' | 'updatedAt' | 'unit'>;

export interface Phase extends Output {
  readonly name: string;
  /** From the start, without what the requirements took, to the warning, the kill or the script's own end. */
  readonly seconds: number;
  readonly endedBy: 'itself' | 'warning' | 'kill';
  /** Undefined when it was killed. */
  readonly exitCode: number | undefined;
  /** From the warning to the end. */
  readonly leftAfterSeconds: number | undefined;
  /** The newest checkpoint before the start, before the warning or kill, and at the end. */
  readonly before: Note | undefined;
  readonly atStrike: Note | undefined;
  readonly after: Note | undefined;
  /** The first that was new in this phase. */
  readonly firstNew: Note | undefined;
  /** How many were new. */
  readonly saves: number;
  readonly firstSaveSeconds: number | undefined;
  /** From the newest checkpoint to the kill. */
  readonly sinceSaveSeconds: number | undefined;
  readonly cpuSeconds: number;
  readonly lines: readonly string[];
  readonly failure: string;
  /** Files in the checkpoint folder, and those that appeared beside the source, relative to their folders. */
  readonly checkpointFiles: readonly string[];
  readonly otherFiles: readonly string[];
  readonly checkpoints: string;
}

export interface PhasePlan {
  readonly name: string;
  readonly strike: 'warn' | 'kill';
  /** From the script's first line, at most; without any line, from its start, twice as many. */
  readonly seconds: number;
  /** After the first new checkpoint, so that there is something to lose. */
  readonly onwardSeconds: number;
  readonly earlier: string | undefined;
  readonly signal: AbortSignal;
}

const LOOK_MILLISECONDS = 100;
/** Imports of a large framework take their time. */
const SILENT_TIMES = 2;
const KEPT_LINES = 400;

export async function playPhase(trial: Trial, plan: PhasePlan): Promise<Phase> {
  const before = plan.earlier === undefined ? undefined : await readNote(plan.earlier);
  const host = await startOnMachine(trial, 'host', plan.earlier);
  const observed = observe(host, trial.training.progress?.pattern);
  const abort = (): void => host.process.kill();
  plan.signal.addEventListener('abort', abort);
  try {
    const watched = await watch(host, plan, before, observed);
    const atStrike = await readNote(host.checkpoints);
    const struckAt = Date.now();
    const endedBy = observed.hasEnded() ? 'itself' : plan.strike === 'warn' ? 'warning' : 'kill';
    if (endedBy === 'warning') await warn(host, trial.graceSeconds);
    else host.process.kill();
    const exit = await host.process.exited;
    const after = await readNote(host.checkpoints);
    plan.signal.throwIfAborted();
    return {
      name: plan.name,
      seconds: (struckAt - observed.startedAt()) / 1_000,
      endedBy,
      exitCode: exit.signal === undefined ? exit.exitCode : undefined,
      leftAfterSeconds: endedBy === 'warning' ? (Date.now() - struckAt) / 1_000 : undefined,
      before,
      atStrike,
      after,
      ...watched,
      sinceSaveSeconds:
        atStrike === undefined ? undefined : (struckAt - Date.parse(atStrike.updatedAt)) / 1_000,
      ...observed.seen(),
      failure: await readFile(join(host.base, 'output/failure'), 'utf8').catch(() => ''),
      checkpointFiles: await filesOf(host.checkpoints, 0),
      otherFiles: await filesOf(join(host.base, 'code'), observed.startedAt()),
      checkpoints: host.checkpoints,
    };
  } finally {
    plan.signal.removeEventListener('abort', abort);
    host.process.kill();
    await host.process.exited;
  }
}

function observe({ process }: TrialHost, pattern: string | undefined) {
  const output = outputReader(pattern);
  const lines: string[] = [];
  let cpuSeconds = 0;
  let cpuBefore = 0;
  let startedAt = Date.now();
  let printedAt: number | undefined;
  let hasEnded = false;
  let problem: Error | undefined;
  process.onUsage((usage) => {
    cpuSeconds = usage.cpuSeconds;
  });
  const take = (line: string): void => {
    if (lines.push(line) > KEPT_LINES) lines.shift();
    const { hasStarted } = output.seen();
    try {
      if (problem === undefined) output.read(line);
    } catch (cause: unknown) {
      problem = new Error(messageOf(cause), { cause });
    }
    const seen = output.seen();
    if (!hasStarted && seen.hasStarted) [startedAt, cpuBefore] = [Date.now(), cpuSeconds];
    if (seen.scriptLines > 0) printedAt ??= Date.now();
  };
  for (const stream of [process.stdout, process.stderr]) void readLines(stream, take);
  void process.exited.then(() => {
    hasEnded = true;
  });
  return {
    hasEnded: () => hasEnded,
    startedAt: () => startedAt,
    /** In Unix milliseconds. The agent itself ends an installation that takes too long. */
    endsAt: (seconds: number): number => {
      if (!output.seen().hasStarted) return Number.POSITIVE_INFINITY;
      return printedAt === undefined
        ? startedAt + SILENT_TIMES * seconds * 1_000
        : printedAt + seconds * 1_000;
    },
    seen: () => {
      if (problem !== undefined) throw problem;
      return { ...output.seen(), lines: [...lines], cpuSeconds: cpuSeconds - cpuBefore };
    },
  };
}

/** Until something new is saved and a little more is done, the time is over, or the script ends. */
async function watch(
  host: TrialHost,
  { seconds, onwardSeconds, signal }: PhasePlan,
  before: Note | undefined,
  observed: ReturnType<typeof observe>,
): Promise<Pick<Phase, 'firstNew' | 'saves' | 'firstSaveSeconds'>> {
  let newest = before;
  let firstNew: Note | undefined;
  let firstSaveSeconds: number | undefined;
  let savedEnd = Number.POSITIVE_INFINITY;
  let saves = 0;
  while (!observed.hasEnded() && !signal.aborted) {
    if (Date.now() >= Math.min(observed.endsAt(seconds), savedEnd)) break;
    await delay(LOOK_MILLISECONDS);
    const note = await readNote(host.checkpoints);
    if (note === undefined || (note.updatedAt === newest?.updatedAt && note.step === newest.step)) continue;
    newest = note;
    saves += 1;
    if (firstNew !== undefined) continue;
    firstNew = note;
    firstSaveSeconds = (Date.now() - observed.startedAt()) / 1_000;
    savedEnd = Date.now() + onwardSeconds * 1_000;
  }
  return { firstNew, saves, firstSaveSeconds };
}

async function warn(host: TrialHost, graceSeconds: number): Promise<void> {
  host.process.terminate();
  const kill = setTimeout(() => host.process.kill(), graceSeconds * 1_000);
  await host.process.exited;
  clearTimeout(kill);
}

/** @returns undefined where there is no checkpoint yet */
export const readNote = async (checkpoints: string): Promise<Note | undefined> =>
  valueOf(
    readDocument(
      progressNote,
      await readFile(join(checkpoints, DOCUMENT_FILES.progress), 'utf8').catch(() => ''),
    ),
  );

/** Those written since then, without what Python and Tidewheel leave; the newest hundred at most. */
async function filesOf(folder: string, since: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter(
    (entry) =>
      entry.isFile() &&
      !/(__pycache__|tidewheel-|\.pyc$)/.test(join(entry.parentPath, entry.name).slice(folder.length)),
  );
  const dated = await Promise.all(
    files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      return { path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 };
    }),
  );
  return dated
    .filter(({ at }) => at >= since)
    .toSorted((a, b) => b.at - a.at)
    .slice(0, 100)
    .map(({ path }) => relative(folder, path));
}
