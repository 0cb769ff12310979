/** One start of a script under the agent, to its end or to a kill -9 of its host. */
import { createHash } from 'node:crypto';
import { glob, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as setTimeoutAsync } from 'node:timers/promises';
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import { folderOf } from '@tidewheel/contract/files.ts';
import { resumeNote } from '@tidewheel/contract/resume.ts';
import { readLines } from '@tidewheel/emulators/sagemaker/hosts/lines.ts';
import { startOnMachine, type Trial } from '../../cli/try/host.ts';
import { type Note, readNote } from '../../cli/try/phase.ts';
import type { Kill } from './kills.ts';

export interface Start {
  readonly wasKilled: boolean;
  /** Undefined when it was killed. */
  readonly exitCode: number | undefined;
  readonly seconds: number;
  /** Optimizer steps that it did; undefined where it has no PyTorch optimizer, or did none. */
  readonly steps: number | undefined;
  /** What it ended with; undefined when it was killed. */
  readonly weights: string | undefined;
  /** Of the newest checkpoint, when it ended. */
  readonly family: string | undefined;
  /** Where the checkpoints are that outlive the host. */
  readonly checkpoints: string;
  readonly lines: readonly string[];
  readonly failure: string;
  /** Why the agent says that the script cannot be restored. */
  readonly refusal: string | undefined;
  /** Whether something shows that it went on from a checkpoint: the hooks' own line, or the agent's verdict. */
  readonly isRestored: boolean;
}

export interface StartPlan {
  readonly name: string;
  /** Checkpoints of the start before. */
  readonly earlier: string | undefined;
  /** Undefined: it is left alone. */
  readonly killed: Kill | undefined;
  readonly result: string | undefined;
  /** Of the random numbers of a script that seeds nothing. */
  readonly seed: number;
  readonly signal: AbortSignal;
}

const REFUSALS = [
  /^tidewheel: (cannot resume this script: .*)/,
  /^tidewheel: (no automatic checkpoints .*)/,
  /trial of automatic checkpoints at .*: refused: (.*)/,
];
const RESTORED = /^tidewheel: restored after step \d+/;
const FAMILY = /taken for a checkpoint: (.+?), by /;
const KEPT_LINES = 400;
/** For a start that is left alone. */
const LIMIT_SECONDS = 900;
const LOOK_MILLISECONDS = 100;

export async function playStart(trial: Trial, plan: StartPlan): Promise<Start> {
  // Beside the machine's folder, which each start makes again.
  const observed = join(trial.work, 'observed', plan.name);
  await mkdir(observed, { recursive: true });
  const environment = {
    ...trial.environment,
    OBSERVED_DIR: observed,
    OBSERVED_SEED: String(plan.seed),
  };
  const before = plan.earlier === undefined ? undefined : await readNote(plan.earlier);
  const host = await startOnMachine({ ...trial, environment }, plan.name, plan.earlier);
  const startedAt = Date.now();
  const lines: string[] = [];
  let refusal: string | undefined;
  let isRestored = false;
  let family: string | undefined;
  const take = (line: string): void => {
    isRestored ||= RESTORED.test(line);
    family = FAMILY.exec(line)?.[1] ?? family;
    if (lines.push(line) > KEPT_LINES) lines.shift();
    refusal ??= REFUSALS.map((pattern) => pattern.exec(line)?.[1]).find((reason) => reason !== undefined);
  };
  for (const stream of [host.process.stdout, host.process.stderr]) void readLines(stream, take);
  let wasKilled = false;
  let hangs = false;
  const kill = (): void => host.process.kill();
  plan.signal.addEventListener('abort', kill);
  const ended = new AbortController();
  const limit = setTimeout(() => {
    hangs = true;
    kill();
  }, LIMIT_SECONDS * 1_000);
  const struck = strike(plan.killed, host.checkpoints, before, ended.signal).then((isDue) => {
    wasKilled = isDue;
    if (isDue) kill();
  });
  const exit = await host.process.exited;
  ended.abort();
  clearTimeout(limit);
  await struck;
  plan.signal.removeEventListener('abort', kill);
  plan.signal.throwIfAborted();
  const seconds = (Date.now() - startedAt) / 1_000;
  const steps = await readFile(join(observed, 'steps')).catch(() => undefined);
  const start: Start = {
    wasKilled,
    exitCode: wasKilled ? undefined : exit.exitCode,
    seconds,
    steps: steps?.length === 8 ? Number(steps.readBigInt64LE()) : undefined,
    weights: wasKilled ? undefined : await weightsOf(host.base, observed, plan.result),
    family: await familyOf(host.checkpoints, family),
    checkpoints: host.checkpoints,
    lines,
    failure: hangs
      ? `it did not end within ${LIMIT_SECONDS} s`
      : await readFile(join(host.base, 'output/failure'), 'utf8').catch(() => ''),
    refusal,
    isRestored: isRestored || (await isCalledResumed(host.checkpoints, startedAt)),
  };
  for (const folder of ['opt/ml/code', 'python', 'tmp'])
    await rm(join(trial.work, plan.name, folder), { recursive: true, force: true });
  return start;
}

/** Waits for the moment of the kill; false when the start has ended before. */
async function strike(
  killed: Kill | undefined,
  checkpoints: string,
  before: Note | undefined,
  ended: AbortSignal,
): Promise<boolean> {
  if (killed === undefined) return false;
  const wait = (milliseconds: number): Promise<unknown> =>
    setTimeoutAsync(milliseconds, undefined, { signal: ended }).catch(() => undefined);
  while (killed.after === 'checkpoint' && !ended.aborted) {
    const note = await readNote(checkpoints);
    if (note !== undefined && versionOf(note) !== versionOf(before)) break;
    await wait(LOOK_MILLISECONDS);
  }
  await wait(killed.seconds * 1_000);
  return !ended.aborted;
}

const versionOf = (note: Note | undefined): string =>
  note === undefined ? '' : `${note.checkpoint} ${note.step} ${note.updatedAt}`;

async function weightsOf(
  base: string,
  observed: string,
  result: string | undefined,
): Promise<string | undefined> {
  if (result === undefined) return readFile(join(observed, 'weights'), 'utf8').catch(() => undefined);
  const hash = createHash('sha256');
  const found: string[] = [];
  for await (const file of glob(result, { cwd: base })) found.push(file);
  found.sort();
  for (const file of found) hash.update(await readFile(join(base, file)));
  return found.length === 0 ? undefined : hash.digest('hex');
}

/** As the agent says it when it sees a new one, or else of what the script resumed from. */
async function familyOf(checkpoints: string, seen: string | undefined): Promise<string | undefined> {
  if (seen !== undefined || (await readNote(checkpoints)) === undefined) return seen;
  const formats = (await resumesIn(checkpoints)).map(({ checkpoint }) => checkpoint?.format);
  return formats.findLast((format) => format !== undefined) || 'marker';
}

/** The agent's verdict on a script with checkpoints of its own, by what it printed and saved in this start. */
async function isCalledResumed(checkpoints: string, startedAt: number): Promise<boolean> {
  const notes = await resumesIn(checkpoints);
  return notes.some((note) => note.verdict?.kind === 'resumed' && (note.startedAt ?? 0) * 1_000 >= startedAt);
}

async function resumesIn(checkpoints: string) {
  const notes = [];
  for await (const file of glob(`${folderOf('resume')}*.json`, { cwd: checkpoints })) {
    const text = await readFile(join(checkpoints, file), 'utf8').catch(() => '');
    const note = valueOf(readDocument(resumeNote, text));
    if (note !== undefined) notes.push(note);
  }
  return notes;
}
