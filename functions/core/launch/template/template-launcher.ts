/**
 * A launcher over a job queue, complete but for its adapter: copy this folder to functions/core/launch/<name>/ and
 * change what the service does otherwise. The README beside it lists the other files.
 */
import { bucketKeys, s3Uri } from '../../shared/keys.ts';
import { AGENT_PATH, type JobInput, jobParts } from '../job/job-parts.ts';
import { hasStarted, isTerminal } from '../job/job-state.ts';
import type { StatusTransition, TrainingJobDescription } from '../job/training-service.ts';
import type { Launcher, Starter } from '../launcher.ts';
import type { JobQueue, QueuedJob, QueueRequest } from './job-queue.ts';

/** What our own stop is told from a failure by: the service calls both `failed`. */
const STOPPED_BY_US = 'stopped by Tidewheel';
/** The service's own words for a host that EC2 took back. */
const HOST_TAKEN = /^Host EC2 .*terminated/;
const MILLISECONDS = 1_000;

export const makeTemplateLauncher = (queue: Omit<JobQueue, 'submit'>): Launcher => ({
  describe: async ({ jobName }) => {
    const job = await queue.find(jobName);
    return job && describeQueued(job);
  },
  stop: async ({ jobName }) => {
    const job = await queue.find(jobName);
    if (job === undefined) return 'notFound';
    if (isTerminal(describeQueued(job))) return 'alreadyEnded';
    await queue.terminate(jobName, STOPPED_BY_US);
    return 'stopping';
  },
  // hosts: the service replaces them itself, and hides them. leftovers: it removes them itself.
});

export const makeTemplateStarter = (queue: Pick<JobQueue, 'submit'>, queueArn: string): Starter => ({
  prepare: (input) => {
    const { parts, objects, problems } = jobParts(input, {
      inputMode: 'File',
      whyNoFileSystems: 'hosts of a job queue mount no file systems: name an S3 prefix',
    });
    if (problems.length > 0) return { kind: 'problems', problems };
    const key = `${attemptFolder(input)}job.json`;
    return {
      kind: 'prepared',
      objects: [...objects, { key, text: JSON.stringify(parts) }],
      inputReason: 'File: hosts of the job queue download their shards',
      start: () => queue.submit(requestOf(input, { name: parts.TrainingJobName, key, queueArn })),
    };
  },
});

const attemptFolder = ({ declaration, runId, attempt }: JobInput): string =>
  bucketKeys.attempt(declaration.name, runId, attempt);

function requestOf(
  input: JobInput,
  { name, key, queueArn }: { readonly name: string; readonly key: string; readonly queueArn: string },
): QueueRequest {
  const { placement, bucket } = input;
  return {
    name,
    queue: queueArn,
    command: ['python3', AGENT_PATH, '--host'],
    environment: { TIDEWHEEL_JOB_URI: s3Uri(bucket, key) },
    nodes: placement.topology.nodes,
    instanceType: placement.pool.instanceType,
    maximumSeconds: placement.maximumRunSeconds,
  };
}

/** In DescribeTrainingJob's shape, so that one set of rules judges attempts wherever they ran. */
function describeQueued(job: QueuedJob): TrainingJobDescription {
  const { name, createdAt, startedAt, endedAt, modelUri } = job;
  const times = { CreationTime: createdAt, TrainingStartTime: startedAt, TrainingEndTime: endedAt };
  const seconds = startedAt && endedAt && (endedAt.getTime() - startedAt.getTime()) / MILLISECONDS;
  const described = {
    TrainingJobName: name,
    ...times,
    TrainingTimeInSeconds: seconds,
    // A service that bills Spot's price directly counts its hours by the ratio of that price to On-Demand's.
    BillableTimeInSeconds: seconds,
    SecondaryStatusTransitions: transitionsOf(job),
    ModelArtifacts: { S3ModelArtifacts: modelUri },
    ...statusOf(job),
  };
  const wasTaken = described.FailureReason !== undefined && HOST_TAKEN.test(described.FailureReason);
  if (!wasTaken) return described;
  const cause = hasStarted(described) ? 'the host was taken back' : 'no host stayed';
  return { ...described, FailureReason: `CapacityError: ${cause}: ${described.FailureReason}` };
}

type Status = Pick<TrainingJobDescription, 'TrainingJobStatus' | 'SecondaryStatus' | 'FailureReason'>;

function statusOf({ status, reason }: QueuedJob): Status {
  switch (status) {
    // `Starting` proves no capacity, so that a job that waits too long is recalled.
    case 'waiting':
    case 'starting':
      return { TrainingJobStatus: 'InProgress', SecondaryStatus: 'Starting' };
    case 'running':
      return { TrainingJobStatus: 'InProgress', SecondaryStatus: 'Training' };
    case 'succeeded':
      return { TrainingJobStatus: 'Completed', SecondaryStatus: 'Completed' };
    case 'failed':
      return reason === STOPPED_BY_US
        ? { TrainingJobStatus: 'Stopped', SecondaryStatus: 'Stopped' }
        : { TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason: reason };
  }
}

function transitionsOf({ createdAt, startedAt, endedAt }: QueuedJob): readonly StatusTransition[] {
  const starting = { Status: 'Starting', StartTime: createdAt, EndTime: startedAt ?? endedAt };
  if (startedAt === undefined) return [starting];
  return [starting, { Status: 'Training', StartTime: startedAt, EndTime: endedAt }];
}
