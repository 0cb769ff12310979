/** One start of a script under the agent, to its end or to a kill -9 of its host. */
import { createHash } from 'node:crypto';
import { glob, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readLines } from '@tidewheel/emulators/sagemaker/hosts/lines.ts';
import * as z from 'zod';
import { startOnMachine, type Trial } from '../../cli/try/host.ts';

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
}

export interface StartPlan {
  readonly name: string;
  /** Checkpoints of the start before. */
  readonly earlier: string | undefined;
  /** From the start of the agent; undefined: it is left alone. */
  readonly killAfterSeconds: number | undefined;
  readonly result: string | undefined;
  /** Of the random numbers of a script that seeds nothing. */
  readonly seed: number;
  readonly signal: AbortSignal;
}

const noteSchema = z.object({ format: z.string().optional() });
const KEPT_LINES = 400;
/** For a start that is left alone. */
const LIMIT_SECONDS = 900;

export async function playStart(trial: Trial, plan: StartPlan): Promise<Start> {
  const observed = join(trial.work, plan.name, 'observed');
  await mkdir(observed, { recursive: true });
  const environment = {
    ...trial.environment,
    OBSERVED_DIR: observed,
    OBSERVED_SEED: String(plan.seed),
  };
  const host = await startOnMachine({ ...trial, environment }, plan.name, plan.earlier);
  const startedAt = Date.now();
  const lines: string[] = [];
  const take = (line: string): void => {
    if (lines.push(line) > KEPT_LINES) lines.shift();
  };
  for (const stream of [host.process.stdout, host.process.stderr]) void readLines(stream, take);
  let hasStruck = false;
  const kill = (): void => {
    hasStruck = true;
    host.process.kill();
  };
  plan.signal.addEventListener('abort', kill);
  const timer = setTimeout(kill, (plan.killAfterSeconds ?? LIMIT_SECONDS) * 1_000);
  const exit = await host.process.exited;
  clearTimeout(timer);
  plan.signal.removeEventListener('abort', kill);
  plan.signal.throwIfAborted();
  const seconds = (Date.now() - startedAt) / 1_000;
  const wasKilled = hasStruck && plan.killAfterSeconds !== undefined;
  const hangs = `it did not end within ${LIMIT_SECONDS} s`;
  const steps = await readFile(join(observed, 'steps')).catch(() => undefined);
  const start: Start = {
    wasKilled,
    exitCode: wasKilled ? undefined : exit.exitCode,
    seconds,
    steps: steps?.length === 8 ? Number(steps.readBigInt64LE()) : undefined,
    weights: wasKilled ? undefined : await weightsOf(host.base, observed, plan.result),
    family: await familyOf(host.checkpoints),
    checkpoints: host.checkpoints,
    lines,
    failure: hasStruck ? hangs : await readFile(join(host.base, 'output/failure'), 'utf8').catch(() => ''),
  };
  for (const folder of ['opt/ml/code', 'python', 'tmp'])
    await rm(join(trial.work, plan.name, folder), { recursive: true, force: true });
  return start;
}

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

async function familyOf(checkpoints: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(checkpoints, 'tidewheel-progress.json'), 'utf8');
    return noteSchema.parse(JSON.parse(text)).format ?? 'marker';
  } catch {
    return undefined;
  }
}
