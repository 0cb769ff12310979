/** Records the state of an attempt's job, and reports its end to the waiting execution. Safe to repeat at any time. */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { type AttemptOutcome, asSelected, type StopReason } from '@tidewheel/placement/records.ts';
import { isTerminal, preparationOf, startUpOf } from '../../launch/job/job-state.ts';
import { outcomeOf } from '../../launch/job/outcome.ts';
import { waitsForCapacity } from '../../launch/job/recall.ts';
import type { TrainingJobDescription } from '../../launch/job/training-service.ts';
import { jobOf, type Launchers, portOf } from '../../launch/launcher.ts';
import type { Executions, Notifier } from '../../records/ports.ts';
import type { AttemptRecord, RunRecord, StopMode } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { deadlineAt } from './make-report.ts';
import { whyStop } from './stop-rules.ts';

export interface ObserveDeps extends Pick<Stores, 'runs' | 'attempts' | 'timeline'> {
  readonly launchers: Launchers;
  readonly executions: Executions;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

export type AttemptObservation =
  | { readonly kind: 'absent' }
  | { readonly kind: 'running'; readonly job: TrainingJobDescription }
  | { readonly kind: 'recalled' }
  | { readonly kind: 'ended'; readonly attempt: AttemptRecord };

/** @param known may be out of date: the record is read again after the job */
export async function observeAttempt(deps: ObserveDeps, known: AttemptRecord): Promise<AttemptObservation> {
  const launcher = portOf(deps.launchers, known);
  const job = known.outcome === undefined ? await launcher.describe(jobOf(known)) : undefined;
  // The record is read after the job, because a recall is recorded before its stop.
  const recorded = (await deps.attempts.get(known.runId, known.attempt)) ?? known;
  const attempt = await recordSelected(deps, recorded, job?.selectedType);
  if (attempt.outcome !== undefined) {
    // The process that recorded the end may have died before it announced it.
    await announceEnd(deps, attempt);
    return { kind: 'ended', attempt };
  }
  if (job === undefined) return { kind: 'absent' };
  if (!isTerminal(job)) return observeLiving(deps, attempt, job);
  const outcome = lossOf(attempt, outcomeOf(job), deps.clock.now());
  return { kind: 'ended', attempt: await end(deps, attempt, outcome) };
}

/** Price, speed and report are those of the type that AWS selected. */
async function recordSelected(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  selectedType: string | undefined,
): Promise<AttemptRecord> {
  const placement = asSelected(attempt.placement, selectedType);
  if (placement === attempt.placement || attempt.outcome !== undefined) return attempt;
  const at = deps.clock.now().toISOString();
  await deps.timeline.add(attempt.runId, {
    id: `selected-${attempt.attempt}`,
    at,
    kind: 'TypeSelected',
    text: `attempt ${attempt.attempt} takes ${selectedType}: ${attempt.placement.pool.instanceType} had no capacity`,
  });
  return deps.attempts.update(attempt.runId, attempt.attempt, { placement, updatedAt: at });
}

async function observeLiving(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  job: TrainingJobDescription,
): Promise<AttemptObservation> {
  const run = await deps.runs.get(attempt.runId);
  const mode = run?.stop?.mode;
  if (attempt.recall === undefined) {
    const why = await stopReason(deps, run, attempt, job);
    if (why !== undefined) return recallAttempt(deps, attempt, why, mode);
  } else if (mode === 'now' || job.TrainingJobStatus === 'InProgress') {
    await portOf(deps.launchers, attempt).stop(jobOf(attempt), mode);
    return { kind: 'recalled' };
  }
  await recordWait(deps, attempt, job);
  return { kind: 'running', job };
}

/** An attempt that waits for capacity is called that, and its first wait is on the timeline. */
async function recordWait(
  deps: ObserveDeps,
  known: AttemptRecord,
  job: TrainingJobDescription,
): Promise<void> {
  const { runId, attempt, status } = known;
  const now = deps.clock.now();
  const current = waitsForCapacity(job, now) ? 'waitingForCapacity' : 'running';
  const at = now.toISOString();
  const seen = {
    status: current,
    startedAt: known.startedAt ?? job.TrainingStartTime?.toISOString(),
    preparing: preparationOf(job),
    // A job that starts again in place has no phases until its script runs.
    startUp: startUpOf(job) ?? known.startUp,
  } as const;
  const { startedAt, preparing, startUp } = known;
  if (isDeepStrictEqual(seen, { status, startedAt, preparing, startUp })) return;
  await deps.attempts.update(runId, attempt, { ...seen, updatedAt: at });
  if (status === current || current === 'running') return;
  const message = job.SecondaryStatusTransitions.at(-1)?.StatusMessage;
  await deps.timeline.add(runId, {
    id: `waiting-${attempt}`,
    at,
    kind: 'WaitingForCapacity',
    text: `attempt ${attempt} waits for capacity (${job.SecondaryStatus}${message ? `: ${message}` : ''})`,
  });
}

/** Checks a person's stop, the budget and the wait of a running job at every look. */
async function stopReason(
  { attempts, clock }: ObserveDeps,
  run: RunRecord | undefined,
  attempt: AttemptRecord,
  job: TrainingJobDescription,
): Promise<StopReason> {
  if (run?.stop !== undefined) return { cause: 'request', why: `was stopped by ${run.stop.requestedBy}` };
  const others = await attempts.list(attempt.runId);
  const budgetUsd = run?.declaration?.limits.budgetUsd;
  return whyStop({ attempt, job, now: clock.now(), others, budgetUsd, deadlineAt: run && deadlineAt(run) });
}

/** Records the recall before the stop, so that any process that sees the stopped job knows its cause. */
export async function recallAttempt(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  reason: NonNullable<StopReason>,
  mode?: StopMode,
): Promise<AttemptObservation> {
  const updatedAt = deps.clock.now().toISOString();
  await deps.attempts.update(attempt.runId, attempt.attempt, {
    recall: { at: updatedAt, ...reason },
    updatedAt,
  });
  await deps.timeline.add(attempt.runId, {
    id: `recalled-${attempt.attempt}`,
    at: updatedAt,
    kind: reason.cause === 'capacity' ? 'AttemptInterrupted' : 'AttemptRecalled',
    text: `attempt ${attempt.attempt} ${reason.why}`,
  });
  await portOf(deps.launchers, attempt).stop(jobOf(attempt), mode);
  return { kind: 'recalled' };
}

/**
 * A job recalled for want of capacity did not fail: it lost its capacity or never had any. A job recalled for another
 * reason lost nothing, and its outcome gives the reason.
 */
function lossOf(attempt: AttemptRecord, outcome: AttemptOutcome, now: Date): AttemptOutcome {
  const recall = attempt.recall ?? lostRecall(attempt, outcome);
  if (wasTaken(recall, outcome) && isReservationOver(attempt, outcome, now))
    return { ...outcome, kind: 'interrupted', message: `its reservation ended: ${outcome.message}` };
  if (recall === undefined || outcome.kind !== 'stopped') return outcome;
  if (recall.cause === 'request') return { ...outcome, kind: 'recalled', message: `it ${recall.why}` };
  const trained = outcome.trainingSeconds > 0;
  if (trained && recall.cause !== 'capacity')
    return { ...outcome, kind: 'recalled', message: `recalled by Tidewheel: it ${recall.why}` };
  const loss = trained ? 'AWS reclaimed the capacity' : 'no capacity came';
  return {
    ...outcome,
    kind: trained ? 'interrupted' : 'capacity',
    message: `${loss}; the job was recalled, to resume in another pool`,
  };
}

/** A recall for the end of the reservation may come after AWS has taken the hosts. */
const wasTaken = (recall: StopReason, { kind }: AttemptOutcome): boolean =>
  recall === undefined || (recall.cause === 'reservation' && kind !== 'stopped');

/** AWS documents no reason for hosts that it takes at the end of a reservation. They may have reported a minute before. */
function isReservationOver(
  { placement: { reserved } }: AttemptRecord,
  { kind, endedAt = '' }: AttemptOutcome,
  now: Date,
): boolean {
  if (reserved?.until === undefined || kind === 'completed') return false;
  return (kind === 'serviceError' ? now.getTime() : Date.parse(endedAt)) >= Date.parse(reserved.until);
}

/** A run whose job was stopped by a person has a report, so it is never restored: Tidewheel stopped the job. */
function lostRecall({ restoredAt }: AttemptRecord, { endedAt, interruptions }: AttemptOutcome): StopReason {
  if (restoredAt === undefined || endedAt === undefined || endedAt > restoredAt) return undefined;
  const why = 'was stopped for a reason that the table has lost';
  return { cause: interruptions > 0 ? 'capacity' : 'time', why };
}

async function end(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  outcome: AttemptOutcome,
): Promise<AttemptRecord> {
  const ended = await deps.attempts.update(attempt.runId, attempt.attempt, {
    outcome,
    status: statusOf(outcome),
    updatedAt: deps.clock.now().toISOString(),
  });
  await announceEnd(deps, ended);
  // A refused clean-up must not end a run that has a model. The next sweep of reconcile repeats it, and says what fails.
  await portOf(deps.launchers, ended)
    .leftovers?.release(ended.jobName)
    .catch(() => undefined);
  return ended;
}

/**
 * Ends an attempt that has no job, at no cost, so that placement sees why. The launch's resources stay until then, since
 * the next try of the launch needs them.
 */
export async function endWithoutJob(
  deps: ObserveDeps,
  attempt: AttemptRecord,
  why: Pick<AttemptOutcome, 'kind' | 'message' | 'quota' | 'fault'>,
): Promise<void> {
  // Other runs keep the error by its time, which later changes of the attempt must not move.
  const endedAt = deps.clock.now().toISOString();
  await end(deps, attempt, { ...why, endedAt, trainingSeconds: 0, billableSeconds: 0, interruptions: 0 });
}

/** Id of the timeline's entry for an attempt's end. The entry follows the notice, so where it is, both are. */
const endEntryOf = ({ attempt }: AttemptRecord): string => `ended-${attempt}`;

/** Answers the waiting execution last: after a crash, the next look repeats the announcements. */
async function announceEnd(deps: ObserveDeps, attempt: AttemptRecord): Promise<void> {
  const { outcome, runId, pipeline, jobName } = attempt;
  if (outcome === undefined) return;
  if (attempt.status === 'interrupted')
    await deps.notifier.notify(
      { runId, pipeline },
      { type: 'AttemptInterrupted', attempt: attempt.attempt, jobName, reason: outcome.message },
    );
  await deps.timeline.add(runId, {
    id: endEntryOf(attempt),
    at: outcome.endedAt ?? attempt.updatedAt,
    kind: 'AttemptEnded',
    text: `attempt ${attempt.attempt}: ${attempt.status}${outcome.message ? ` (${outcome.message})` : ''}`,
  });
  if (attempt.taskToken !== undefined)
    await deps.executions.succeed(attempt.taskToken, { attempt: attempt.attempt, outcome: outcome.kind });
}

function statusOf(outcome: AttemptOutcome): AttemptRecord['status'] {
  switch (outcome.kind) {
    case 'completed':
      return 'done';
    case 'interrupted':
    case 'capacity':
      return 'interrupted';
    case 'recalled':
      return 'recalled';
    case 'stopped':
    case 'timeLimit':
    case 'serviceError':
    case 'userError':
      return 'failed';
  }
}

// A run that ends leaves no job behind: it stops a running job and waits for the job's figures.

/**
 * Usually the last attempt has its outcome and every end is announced, so there is nothing to do.
 * @throws TransientError while a job is being stopped, because a report needs the costs of all attempts
 */
export async function endOpenAttempts(deps: ObserveDeps, runId: string): Promise<void> {
  const attempts = await deps.attempts.list(runId);
  await announceEnds(deps, runId, attempts);
  for (const attempt of attempts) if (attempt.outcome === undefined) await endAttempt(deps, attempt);
}

async function endAttempt(deps: ObserveDeps, attempt: AttemptRecord): Promise<void> {
  const seen = await observeAttempt(deps, attempt);
  if (seen.kind === 'ended') return;
  if (seen.kind === 'absent') {
    const message = 'the run ended before the job was created';
    await endWithoutJob(deps, attempt, { kind: 'stopped', message });
    return;
  }
  await portOf(deps.launchers, attempt).stop(jobOf(attempt));
  throw new TransientError(
    `${attempt.jobName} is being stopped because its run has ended: the next try reports the run`,
  );
}

/** A process may have died between recording an end and announcing it, and no later state of the run looked again. */
async function announceEnds(
  deps: ObserveDeps,
  runId: string,
  attempts: readonly AttemptRecord[],
): Promise<void> {
  const announced = new Set((await deps.timeline.list(runId)).map(({ id }) => id));
  for (const attempt of attempts)
    if (attempt.outcome !== undefined && !announced.has(endEntryOf(attempt)))
      await observeAttempt(deps, attempt);
}
