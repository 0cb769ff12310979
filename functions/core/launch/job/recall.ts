/**
 * When to take a job back from its pool. Managed Spot restarts a job only where it was, and a starved job waits there
 * until its wait limit; we stop it and resubmit from the checkpoint elsewhere.
 */
import { isTerminal } from './job-state.ts';
import type { StatusTransition, TrainingJobDescription } from './training-service.ts';

export interface Patience {
  /** How long a job may wait for its first capacity. */
  readonly patienceSeconds: number;
  /** How long after an interruption SageMaker may try to restart in place. Default 0: go elsewhere at once. */
  readonly afterInterruptionSeconds?: number | undefined;
}

/** Statuses in which no capacity is proved to be held. Pending is where On-Demand accelerator jobs wait. */
const WAITING: ReadonlySet<string> = new Set(['Starting', 'Pending', 'Interrupted', 'LaunchingMLInstances']);
const MILLISECONDS = 1_000;

export const shouldTakeBack = (job: TrainingJobDescription, now: Date, patience: Patience): boolean =>
  takeBackReason(job, now, patience) !== undefined;

/** Why the job is to be stopped and resubmitted elsewhere, or undefined when it is well where it is. */
export function takeBackReason(
  job: TrainingJobDescription,
  now: Date,
  patience: Patience,
): string | undefined {
  if (isTerminal(job) || job.TrainingJobStatus === 'Stopping' || !WAITING.has(job.SecondaryStatus))
    return undefined;
  const waits = currentWait(job);
  const since = waits[0]?.StartTime ?? job.CreationTime;
  const waitedSeconds = Math.max(0, (now.getTime() - since.getTime()) / MILLISECONDS);
  const interrupted =
    job.SecondaryStatus === 'Interrupted' || waits.some(({ Status }) => Status === 'Interrupted');
  const limitSeconds = interrupted ? (patience.afterInterruptionSeconds ?? 0) : patience.patienceSeconds;
  if (waitedSeconds < limitSeconds) return undefined;
  const cause = interrupted ? 'its capacity was taken away' : 'it found no capacity';
  return `${cause} and it has waited ${Math.round(waitedSeconds)} s in ${job.SecondaryStatus}`;
}

/** The statuses since the job last held capacity. */
function currentWait({
  SecondaryStatusTransitions: all,
}: TrainingJobDescription): readonly StatusTransition[] {
  const held = all.findLastIndex(({ Status }) => !WAITING.has(Status));
  return all.slice(held + 1);
}
