/**
 * The service that a template launcher asks: a queue that runs containers on instances of the account. The names in
 * brackets are AWS Batch's. https://docs.aws.amazon.com/batch/latest/userguide/job_states.html
 */
import type { CreateOutcome } from '../job/training-service.ts';

/** What is submitted: SubmitJob's jobName, containerOverrides and timeout. */
export interface QueueRequest {
  readonly name: string;
  readonly queue: string;
  /** Of every host; SageMaker's own command is the same agent without `--host`. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly nodes: number;
  readonly instanceType: string;
  readonly maximumSeconds: number;
}

/** A job as the queue describes it: DescribeJobs. */
export interface QueuedJob {
  readonly name: string;
  /** waiting: SUBMITTED, PENDING, RUNNABLE; starting: STARTING; running: RUNNING. */
  readonly status: 'waiting' | 'starting' | 'running' | 'succeeded' | 'failed';
  /** Why it has this status; of a job that was terminated, the reason that was given then. */
  readonly reason?: string | undefined;
  readonly createdAt: Date;
  readonly startedAt?: Date | undefined;
  readonly endedAt?: Date | undefined;
  readonly modelUri?: string | undefined;
}

/** The adapter (functions/aws/<name>/) returns every failure of AWS as a value, or throws TransientError. */
export interface JobQueue {
  /**
   * Batch takes a name twice and starts two jobs, so an adapter looks for the name before it submits. The launch
   * function is the only caller, and Step Functions runs it once at a time for a run.
   */
  submit(request: QueueRequest): Promise<CreateOutcome>;
  /** undefined when the queue knows no such job */
  find(jobName: string): Promise<QueuedJob | undefined>;
  /** SIGTERM first, SIGKILL after the service's grace; the job ends as `failed` with this reason. */
  terminate(jobName: string, reason: string): Promise<void>;
}
