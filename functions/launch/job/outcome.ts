/**
 * The outcome of a training job, from DescribeTrainingJob. Events are not used: they can be lost, repeated or late.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/model-managed-spot-training.html
 */
import type { AttemptOutcome } from '@tidewheel/placement/records.ts';
import { hasStarted, interruptionsOf, isTerminal, startUpOf } from './job-state.ts';
import { HUNG, INTERRUPTED, isQuotaEnd, platformFaultOf } from './platform-fault.ts';
import type { TrainingJobDescription } from './training-service.ts';

/** @param job one that has ended: ask `isTerminal` first */
export function outcomeOf(job: TrainingJobDescription): AttemptOutcome {
  if (!isTerminal(job)) {
    throw new Error(`training job ${job.TrainingJobName} is ${job.TrainingJobStatus}: it has no outcome yet`);
  }
  const kind = kindOf(job);
  const fault = kind === 'serviceError' ? platformFaultOf(job.FailureReason) : undefined;
  const trainingSeconds = job.TrainingTimeInSeconds ?? spanSeconds(job);
  return {
    kind,
    message: messageOf(job, kind),
    ...(fault !== undefined && { fault }),
    ...(kind === 'capacity' && isQuotaEnd(job.FailureReason) && { quota: true }),
    startedAt: job.TrainingStartTime?.toISOString(),
    ...startOfScript(job),
    endedAt: endOf(job)?.toISOString(),
    trainingSeconds,
    // Without a figure the whole training time counts as paid: a report may overstate the cost but never hide it.
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

/** A limit and a person both give the status Stopped. The secondary status distinguishes them. */
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
 * FailureReason begins with its class. CapacityError may be anywhere, as in SageMaker's own SDK. It is checked last,
 * because the error text of a script can contain any word.
 */
const FAILURES: readonly (readonly [RegExp, AttemptOutcome['kind']])[] = [
  [HUNG, 'recalled'],
  ...INTERRUPTED.map((said): readonly [RegExp, AttemptOutcome['kind']] => [said, 'interrupted']),
  [/^\s*AlgorithmError\b/i, 'userError'],
  [/^\s*Framework ?Error\b/i, 'userError'],
  [/^\s*InternalServerError\b/i, 'serviceError'],
  [/CapacityError/i, 'capacity'],
];

/** A script's failure begins with AlgorithmError, so a reason of unknown class counts as a service error. */
function kindOfFailure(job: TrainingJobDescription): AttemptOutcome['kind'] {
  const reason = job.FailureReason ?? '';
  if (platformFaultOf(reason) !== undefined) return 'serviceError';
  if (isQuotaEnd(reason)) return 'capacity';
  const kind = FAILURES.find(([pattern]) => pattern.test(reason))?.[1] ?? 'serviceError';
  return kind === 'capacity' && hasStarted(job) ? 'interrupted' : kind;
}

function messageOf(job: TrainingJobDescription, kind: AttemptOutcome['kind']): string {
  if (job.FailureReason) return explainedKill(job.FailureReason) ?? job.FailureReason;
  if (kind === 'completed') return 'training completed';
  const last = job.SecondaryStatusTransitions.at(-1)?.StatusMessage;
  return last || `${job.TrainingJobStatus} (${job.SecondaryStatus})`;
}

/** Of an agent that was killed: it wrote no failure. The second form is that of hosts on EC2. */
const SILENT_KILL = /^\s*AlgorithmError:\s*(?:,\s*exit code: 137|\(exit code 137 on [^)]*\))\s*$/i;

/** @returns undefined for a reason that says more than the exit code */
function explainedKill(reason: string): string | undefined {
  if (!SILENT_KILL.test(reason)) return undefined;
  return (
    'it was killed (SIGKILL) together with the agent, which could not say why. Most often the host ran out of memory: ' +
    'choose instance types with more of it, or lower the batch size or the number of data-loading workers ' +
    `(${reason.trim()})`
  );
}

/** `Training` begins when the shards and the image are there. */
function startOfScript(
  job: TrainingJobDescription,
): Pick<AttemptOutcome, 'scriptStartedAt' | 'startUp' | 'endedBeforeScript'> {
  const transitions = job.SecondaryStatusTransitions;
  const script = transitions.find(({ Status }) => Status === 'Training');
  if (script !== undefined)
    return { scriptStartedAt: script.StartTime.toISOString(), startUp: startUpOf(job) };
  return hasStarted(job) && transitions.length > 0 ? { endedBeforeScript: true } : {};
}

/** A job that never started may have no end time: its last change of status is its end. */
const endOf = ({ TrainingEndTime, SecondaryStatusTransitions }: TrainingJobDescription): Date | undefined =>
  TrainingEndTime ?? SecondaryStatusTransitions.at(-1)?.StartTime;

const MILLISECONDS = 1_000;

function spanSeconds({ TrainingStartTime: start, TrainingEndTime: end }: TrainingJobDescription): number {
  if (start === undefined || end === undefined) return 0;
  return Math.max(0, (end.getTime() - start.getTime()) / MILLISECONDS);
}
