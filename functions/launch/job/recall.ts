/**
 * When to recall a job: to stop it and resubmit it to another pool, where it resumes from its checkpoint. Managed Spot
 * restarts a job only in its own pool, and without capacity the job waits there until its wait limit.
 */
import { isTerminal } from './job-state.ts';
import type { StatusTransition, TrainingJobDescription } from './training-service.ts';

export interface Patience {
  /** How long a job may wait for its first capacity. */
  readonly patienceSeconds: number;
  /** The same while the service's message says that it prepares instances. The default is patienceSeconds. */
  readonly preparationSeconds?: number | undefined;
}

/** In these statuses nothing proves that the job holds capacity. On-Demand accelerator jobs wait in Pending. */
const WAITING: ReadonlySet<string> = new Set(['Starting', 'Pending', 'Interrupted', 'LaunchingMLInstances']);
const MILLISECONDS = 1_000;
/**
 * Messages of `Starting` that mean held instances. AWS asks not to branch on messages, so they only prolong the patience.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_SecondaryStatusTransition.html
 */
const PREPARING = /^(Preparing the instances for training|Launched instance was unhealthy, replacing it)/;

/** A launch takes this long without a lack of capacity. */
const LAUNCH_SECONDS = 120;
/** SageMaker's message while EC2 has no capacity, as SDK and console show it. */
const NO_CAPACITY = /insufficient.{0,20}capacity/i;

/** Whether the job holds no instance and looks for some. */
export function waitsForCapacity(job: TrainingJobDescription, now: Date): boolean {
  if (job.TrainingJobStatus !== 'InProgress' || !WAITING.has(job.SecondaryStatus)) return false;
  const waits = currentWait(job);
  const message = waits.at(-1)?.StatusMessage ?? '';
  if (PREPARING.test(message)) return false;
  if (job.SecondaryStatus === 'Pending' || NO_CAPACITY.test(message)) return true;
  const since = waits[0]?.StartTime ?? job.CreationTime;
  return (now.getTime() - since.getTime()) / MILLISECONDS >= LAUNCH_SECONDS;
}

/** Whether the job has waited too long. After an interruption no wait in place is short enough. */
export function mustRecall(job: TrainingJobDescription, now: Date, patience: Patience): boolean {
  if (isTerminal(job) || job.TrainingJobStatus === 'Stopping' || !WAITING.has(job.SecondaryStatus))
    return false;
  const waits = currentWait(job);
  if (job.SecondaryStatus === 'Interrupted' || waits.some(({ Status }) => Status === 'Interrupted'))
    return true;
  const since = waits[0]?.StartTime ?? job.CreationTime;
  const waitedSeconds = Math.max(0, (now.getTime() - since.getTime()) / MILLISECONDS);
  return waitedSeconds >= firstWait(waits, patience);
}

function firstWait(
  waits: readonly StatusTransition[],
  { patienceSeconds, preparationSeconds = patienceSeconds }: Patience,
): number {
  return PREPARING.test(waits.at(-1)?.StatusMessage ?? '') ? preparationSeconds : patienceSeconds;
}

/** Transitions since the job last held capacity. */
function currentWait({
  SecondaryStatusTransitions: all,
}: TrainingJobDescription): readonly StatusTransition[] {
  const held = all.findLastIndex(({ Status }) => !WAITING.has(Status));
  return all.slice(held + 1);
}
