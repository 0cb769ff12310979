/**
 * A launcher over a queue that runs containers on instances of the account. Only its adapter is missing: copy this file
 * to functions/launch/<name>/ and change what the service does differently. Words in brackets are AWS Batch's:
 * https://docs.aws.amazon.com/batch/latest/userguide/job_states.html
 */

import { posix } from 'node:path';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';
import { HOSTS_FOLDER, JOB_DOCUMENT, jobDocument } from '../../../functions/launch/job/job-document.ts';
import { AGENT_PATH, type JobInput, jobParts } from '../../../functions/launch/job/job-parts.ts';
import { hasStarted, isTerminal } from '../../../functions/launch/job/job-state.ts';
import type {
  CreateOutcome,
  StatusTransition,
  TrainingJobDescription,
} from '../../../functions/launch/job/training-service.ts';
import type { Launcher, Starter } from '../../../functions/launch/launcher.ts';

/** The submitted job (SubmitJob: jobName, containerOverrides, timeout). */
export interface QueueRequest {
  readonly name: string;
  readonly queue: string;
  /** The command of every host. SageMaker's command is the same agent without `--host`. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly nodes: number;
  readonly instanceType: string;
  readonly maximumSeconds: number;
}

/** A job as the queue describes it (DescribeJobs). */
export interface QueuedJob {
  readonly name: string;
  /** waiting (SUBMITTED, PENDING, RUNNABLE), starting (STARTING), running (RUNNING) */
  readonly status: 'waiting' | 'starting' | 'running' | 'succeeded' | 'failed';
  /** Reason of the status. For a terminated job it is the reason given to `terminate`. */
  readonly reason?: string | undefined;
  readonly createdAt: Date;
  readonly startedAt?: Date | undefined;
  readonly endedAt?: Date | undefined;
  readonly modelUri?: string | undefined;
}

/** The adapter (functions/aws/<name>/) returns every failure of AWS as a value, or throws TransientError. */
export interface JobQueue {
  /**
   * Batch accepts a name twice and starts two jobs, so an adapter looks for the name before it submits. The launch
   * function is the only caller, and Step Functions runs one launch of a run at a time.
   */
  submit(request: QueueRequest): Promise<CreateOutcome>;
  /** undefined when the queue knows no such job */
  find(jobName: string): Promise<QueuedJob | undefined>;
  /** Sends SIGTERM, and SIGKILL after the service's grace period. The job ends as `failed` with this reason. */
  terminate(jobName: string, reason: string): Promise<void>;
}

/** Distinguishes Tidewheel's stop from a failure, because the service calls both `failed`. */
const STOPPED_BY_US = 'stopped by Tidewheel';
/** The service's message for a host that EC2 reclaimed. */
const HOST_RECLAIMED = /^Host EC2 .*terminated/;
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
  // No hosts port: the service replaces and hides its hosts. No leftovers port: it removes them itself.
});

export const makeTemplateStarter = (queue: Pick<JobQueue, 'submit'>, queueArn: string): Starter => ({
  prepare: (input) => {
    const { parts, objects, problems } = jobParts(input, {
      inputMode: 'File',
      whyNoFileSystems: 'hosts of a job queue mount no file systems: name an S3 prefix',
    });
    if (problems.length > 0) return { kind: 'problems', problems };
    const key = attemptFolder(input) + JOB_DOCUMENT;
    return {
      kind: 'prepared',
      objects: [...objects, { key, text: JSON.stringify(jobDocument(input, parts, { canRefill: false })) }],
      inputMode: 'File',
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
  const { placement, bucket, agentPrefix } = input;
  const agent = s3Uri(bucket, agentPrefix);
  return {
    name,
    queue: queueArn,
    // The container needs the AWS CLI and Python. Nothing else of Tidewheel is in it.
    command: [
      'bash',
      '-c',
      `aws s3 cp --only-show-errors --recursive ${shellQuote(agent)} ${posix.dirname(AGENT_PATH)}/ && exec python3 ${AGENT_PATH} --host`,
    ],
    environment: {
      TIDEWHEEL_JOB_URI: s3Uri(bucket, key),
      TIDEWHEEL_HOSTS_URI: s3Uri(bucket, attemptFolder(input) + HOSTS_FOLDER),
    },
    nodes: placement.topology.nodes,
    instanceType: placement.pool.instanceType,
    maximumSeconds: placement.maximumRunSeconds,
  };
}

/** Uses the shape of DescribeTrainingJob, so that one set of rules judges attempts of every launcher. */
function describeQueued(job: QueuedJob): TrainingJobDescription {
  const { name, createdAt, startedAt, endedAt, modelUri } = job;
  const times = { CreationTime: createdAt, TrainingStartTime: startedAt, TrainingEndTime: endedAt };
  const seconds = startedAt && endedAt && (endedAt.getTime() - startedAt.getTime()) / MILLISECONDS;
  const described = {
    TrainingJobName: name,
    ...times,
    TrainingTimeInSeconds: seconds,
    // For a service that bills Spot's price directly, multiply by the ratio of that price to On-Demand's.
    BillableTimeInSeconds: seconds,
    SecondaryStatusTransitions: transitionsOf(job),
    ModelArtifacts: { S3ModelArtifacts: modelUri },
    ...statusOf(job),
  };
  const wasTaken = described.FailureReason !== undefined && HOST_RECLAIMED.test(described.FailureReason);
  if (!wasTaken) return described;
  const cause = hasStarted(described) ? 'EC2 reclaimed the host' : 'no host stayed';
  return { ...described, FailureReason: `CapacityError: ${cause}: ${described.FailureReason}` };
}

type Status = Pick<TrainingJobDescription, 'TrainingJobStatus' | 'SecondaryStatus' | 'FailureReason'>;

function statusOf({ status, reason }: QueuedJob): Status {
  switch (status) {
    // `Starting` proves no capacity, so a job that waits too long is recalled.
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
