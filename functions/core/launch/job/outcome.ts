/**
 * What became of a training job, from DescribeTrainingJob's answer (never from events, which are lost, doubled and late).
 * https://docs.aws.amazon.com/sagemaker/latest/dg/model-managed-spot-training.html
 */
import type { AttemptOutcome } from '../../runs/run-records.ts';
import { hasStarted, interruptionsOf, isTerminal } from './job-state.ts';
import type { TrainingJobDescription } from './training-service.ts';

export { isTerminal } from './job-state.ts';
export { recallReason } from './recall.ts';

/** @param job one that has ended: ask `isTerminal` first */
export function outcomeOf(job: TrainingJobDescription): AttemptOutcome {
  if (!isTerminal(job)) {
    throw new Error(`training job ${job.TrainingJobName} is ${job.TrainingJobStatus}: it has no outcome yet`);
  }
  const kind = kindOf(job);
  const trainingSeconds = job.TrainingTimeInSeconds ?? spanSeconds(job);
  return {
    kind,
    message: messageOf(job, kind),
    startedAt: job.TrainingStartTime?.toISOString(),
    endedAt: endOf(job)?.toISOString(),
    trainingSeconds,
    // Without a figure the whole training time is taken as paid: a report may overstate the cost, never hide it.
    billableSeconds: job.BillableTimeInSeconds ?? trainingSeconds,
    interruptions: interruptionsOf(job),
    modelUri: kind === 'completed' ? job.ModelArtifacts?.S3ModelArtifacts : undefined,
  };
}

function kindOf(job: TrainingJobDescription): AttemptOutcome['kind'] {
  switch (job.TrainingJobStatus) {
    case 'Completed':
      return 'completed';
    case 'Failed':
      return kindOfFailure(job);
    default:
      return kindOfStop(job);
  }
}

/** Stopped by a limit is not stopped by a person; both have the status Stopped. */
function kindOfStop(job: TrainingJobDescription): AttemptOutcome['kind'] {
  switch (job.SecondaryStatus) {
    case 'MaxWaitTimeExceeded':
      return hasStarted(job) ? 'interrupted' : 'capacity';
    case 'MaxRuntimeExceeded':
      return 'timeLimit';
    default:
      return 'stopped';
  }
}

/**
 * FailureReason begins with its class. CapacityError is looked for anywhere, as SageMaker's own SDK does, but last: a
 * script's error text may hold any word.
 */
const FAILURES: readonly (readonly [RegExp, AttemptOutcome['kind']])[] = [
  // Our agent's own words: another host of the job vanished, or it was told to leave. The script did nothing wrong.
  [/^\s*AlgorithmError:?\s*Interrupted: host /i, 'interrupted'],
  [/^\s*AlgorithmError\b.*, exit code: 143\s*$/is, 'interrupted'],
  [/^\s*AlgorithmError\b/i, 'userError'],
  [/^\s*Framework ?Error\b/i, 'userError'],
  [/^\s*ClientError\b/i, 'userError'],
  [/^\s*InternalServerError\b/i, 'serviceError'],
  [/CapacityError/i, 'capacity'],
];

/** A reason of no known class is not the script's (those begin with AlgorithmError), so it counts as the service's. */
function kindOfFailure(job: TrainingJobDescription): AttemptOutcome['kind'] {
  const reason = job.FailureReason ?? '';
  const kind = FAILURES.find(([pattern]) => pattern.test(reason))?.[1] ?? 'serviceError';
  return kind === 'capacity' && hasStarted(job) ? 'interrupted' : kind;
}

function messageOf(job: TrainingJobDescription, kind: AttemptOutcome['kind']): string {
  if (job.FailureReason) return job.FailureReason;
  if (kind === 'completed') return 'training completed';
  const last = job.SecondaryStatusTransitions.at(-1)?.StatusMessage;
  return last || `${job.TrainingJobStatus} (${job.SecondaryStatus})`;
}

/** A job that never started may have no end of training: then its last change of status is its end. */
const endOf = ({ TrainingEndTime, SecondaryStatusTransitions }: TrainingJobDescription): Date | undefined =>
  TrainingEndTime ?? SecondaryStatusTransitions.at(-1)?.StartTime;

const MILLISECONDS = 1_000;

function spanSeconds({ TrainingStartTime: start, TrainingEndTime: end }: TrainingJobDescription): number {
  if (start === undefined || end === undefined) return 0;
  return Math.max(0, (end.getTime() - start.getTime()) / MILLISECONDS);
}
