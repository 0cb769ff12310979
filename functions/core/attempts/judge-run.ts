/** The Judge state: where does a run's training stand, and what comes next? Also where an execution takes a run up again. */

import { jobOf, portOf } from '../launch/launcher.ts';
import { bringBack, homeAddress } from '../launch/regions/mirror.ts';
import type { Region } from '../launch/regions/region-bucket.ts';
import { attemptTimeoutSeconds } from '../placement/model/attempt-timeout.ts';
import { readProgress } from '../runs/progress.ts';
import type { AttemptRecord, RunRecord } from '../runs/run-records.ts';
import { RunNotFoundError } from '../shared/errors.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { judge } from './judge.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';

export type NextStep =
  | { readonly kind: 'place'; readonly reason: string }
  | { readonly kind: 'relaunch'; readonly attempt: number; readonly timeoutSeconds: number }
  | { readonly kind: 'wait'; readonly seconds: number; readonly reason: string }
  | { readonly kind: 'nextExecution'; readonly reason: string }
  | { readonly kind: 'done' | 'failed' | 'empty'; readonly reason: string };

export interface JudgeDeps extends ObserveDeps {
  readonly store: ObjectStore;
  /** Another region by its name. */
  readonly regionOf?: ((name: string) => Region) | undefined;
}

export interface JudgeInput {
  readonly runId: string;
  /** Set when the wait for the attempt's end ran out. */
  readonly timedOut?: boolean | undefined;
}

/** A loop of an attempt writes about 30 events; an execution ends at 25,000. */
export const ATTEMPTS_PER_EXECUTION = 300;
const STOP_PAUSE_SECONDS = 15;

export async function judgeRun(deps: JudgeDeps, input: JudgeInput): Promise<NextStep> {
  const run = await deps.runs.get(input.runId);
  if (run === undefined) throw new RunNotFoundError(input.runId);
  const attempts = await deps.attempts.list(run.runId);
  const last = attempts.at(-1);
  if (last === undefined) return firstPlacement(deps, run);
  if (last.outcome === undefined) {
    const seen = await observeAttempt(deps, last);
    if (seen.kind !== 'ended') return openAttempt(deps, last, input.timedOut ?? false);
    attempts[attempts.length - 1] = seen.attempt;
  }
  const judged = judge(await withProgress(deps, run, attempts));
  if (judged.kind !== 'again') return judged;
  if (attempts.length >= ATTEMPTS_PER_EXECUTION * run.execution) {
    const reason = `${attempts.length} attempts: the run goes on in its next execution`;
    return { kind: 'nextExecution', reason };
  }
  await setStatus(deps, run, 'placing');
  return { kind: 'place', reason: judged.reason };
}

async function firstPlacement(deps: JudgeDeps, run: RunRecord): Promise<NextStep> {
  await setStatus(deps, run, 'placing');
  return { kind: 'place', reason: 'first attempt' };
}

async function setStatus(deps: JudgeDeps, run: RunRecord, status: RunRecord['status']): Promise<void> {
  if (run.status === status) return;
  await deps.runs.update(run.runId, { status, updatedAt: deps.clock.now().toISOString() });
}

/** An attempt without an end: an execution before this one left it, or nobody told its end in time. */
async function openAttempt(deps: JudgeDeps, last: AttemptRecord, timedOut: boolean): Promise<NextStep> {
  if (!timedOut)
    return { kind: 'relaunch', attempt: last.attempt, timeoutSeconds: attemptTimeoutSeconds(last.placement) };
  // On record before the stop, so that the end is not taken for somebody else's doing.
  const updatedAt = deps.clock.now().toISOString();
  await deps.attempts.update(last.runId, last.attempt, {
    recall: last.recall ?? { at: updatedAt, cause: 'time', why: 'ran out of the time that it was given' },
    updatedAt,
  });
  if ((await portOf(deps.launchers, last).stop(jobOf(last))) === 'notFound') {
    return { kind: 'relaunch', attempt: last.attempt, timeoutSeconds: attemptTimeoutSeconds(last.placement) };
  }
  return {
    kind: 'wait',
    seconds: STOP_PAUSE_SECONDS,
    reason: `${last.jobName} ran out of time and is being stopped`,
  };
}

/** Reads what the bucket proves once the job has ended, and keeps it with the attempt. */
async function withProgress(
  deps: JudgeDeps,
  run: RunRecord,
  attempts: readonly AttemptRecord[],
): Promise<AttemptRecord[]> {
  const last = await broughtBack(deps, attempts.at(-1));
  if (last === undefined || last.progressAfter !== undefined) return [...attempts];
  const progressAfter = await readProgress(deps.store, run.pipeline, run.runId);
  if (progressAfter === undefined) return [...attempts];
  const updatedAt = deps.clock.now().toISOString();
  const updated = await deps.attempts.update(run.runId, last.attempt, { progressAfter, updatedAt });
  return [...attempts.slice(0, -1), updated];
}

/** Copies from another region go on in the next try when they take longer: the function has two minutes. */
const COPY_MILLISECONDS = 90_000;

/** What an attempt in another region saved is brought home before it is judged by what is there. */
async function broughtBack(
  deps: JudgeDeps,
  last: AttemptRecord | undefined,
): Promise<AttemptRecord | undefined> {
  const region = last?.placement.pool.region;
  if (last?.outcome === undefined || region === undefined || last.progressAfter !== undefined) return last;
  if (deps.regionOf === undefined) return last;
  const end = deps.clock.now().getTime() + COPY_MILLISECONDS;
  const journey = {
    pipeline: last.pipeline,
    runId: last.runId,
    home: deps.store,
    region: deps.regionOf(region),
    until: () => deps.clock.now().getTime() > end,
  };
  await bringBack(journey);
  const { modelUri } = last.outcome;
  if (modelUri === undefined) return last;
  const outcome = { ...last.outcome, modelUri: homeAddress(modelUri, journey) };
  const updatedAt = deps.clock.now().toISOString();
  return deps.attempts.update(last.runId, last.attempt, { outcome, updatedAt });
}
