/** A training service that follows a script against a fake clock: names are taken once, statuses come and go, stop takes time. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import type { CreateTrainingJobRequest } from '../../../functions/launch/job/request.ts';
import type {
  CreateOutcome,
  TrainingJobDescription,
  TrainingService,
} from '../../../functions/launch/job/training-service.ts';

/** A status from `at` seconds after the creation on. */
export interface ScriptedStatus {
  readonly at: number;
  readonly status: 'InProgress' | 'Completed' | 'Failed' | 'Stopped';
  readonly secondary: string;
  readonly reason?: string | undefined;
  /** As SageMaker words it, e.g. `Preparing the instances for training`. */
  readonly message?: string | undefined;
  /** What the training code did when this began, e.g. wrote a checkpoint. */
  readonly effect?: (() => void) | undefined;
}

export type JobScript = readonly ScriptedStatus[];

interface Job {
  readonly request: CreateTrainingJobRequest;
  readonly createdAt: Date;
  readonly script: JobScript;
  /** How much of the script has begun. */
  begun: number;
  stoppedAt?: Date;
  isStopReported?: boolean;
}

export interface ScriptedTraining extends TrainingService {
  readonly jobs: ReadonlyMap<string, CreateTrainingJobRequest>;
  /** Lets what is due by now happen; the names of the jobs whose status changed. */
  advance(): string[];
  /** Whether any job holds or seeks capacity. */
  running(): string[];
}

const STOP_SECONDS = 30;
const WAITS: ReadonlySet<string> = new Set(['Starting', 'Pending', 'Interrupted']);

/**
 * @param script what becomes of a job, by its request
 * @param createError the error that CreateTrainingJob returns; undefined creates the job
 */
export function scriptedTraining(
  clock: Clock,
  script: (request: CreateTrainingJobRequest) => JobScript,
  createError: (request: CreateTrainingJobRequest) => CreateOutcome | undefined = () => undefined,
): ScriptedTraining {
  const jobs = new Map<string, Job>();
  const elapsed = (since: Date) => (clock.now().getTime() - since.getTime()) / 1_000;
  const stopped = (job: Job) => job.stoppedAt !== undefined && elapsed(job.stoppedAt) >= STOP_SECONDS;
  const due = (job: Job): number => {
    const until = job.stoppedAt
      ? (job.stoppedAt.getTime() - job.createdAt.getTime()) / 1_000
      : elapsed(job.createdAt);
    return job.script.filter(({ at }) => at <= until).length;
  };
  return {
    get jobs() {
      return new Map([...jobs].map(([name, { request }]) => [name, request]));
    },
    running: () => [...jobs].filter(([, job]) => !ended(describe(job, stopped(job)))).map(([name]) => name),
    advance: () => {
      const changed: string[] = [];
      for (const [name, job] of jobs) {
        const now = due(job);
        for (const { effect } of job.script.slice(job.begun, now)) effect?.();
        const stop = stopped(job) && job.isStopReported !== true;
        if (now > job.begun || stop) changed.push(name);
        if (stop) job.isStopReported = true;
        job.begun = now;
      }
      return changed;
    },
    create: async (request) => {
      await Promise.resolve();
      const name = request.TrainingJobName;
      if (jobs.has(name)) return { kind: 'alreadyExists' };
      const error = createError(request);
      if (error !== undefined) return error;
      jobs.set(name, { request, createdAt: clock.now(), script: script(request), begun: 0 });
      return { kind: 'created', arn: `arn:aws:sagemaker:us-east-1:123456789012:training-job/${name}` };
    },
    describe: async (name) => {
      await Promise.resolve();
      const job = jobs.get(name);
      return job && describe(job, stopped(job));
    },
    stop: async (name) => {
      await Promise.resolve();
      const job = jobs.get(name);
      if (job === undefined) return 'notFound';
      if (ended(describe(job, stopped(job)))) return 'alreadyEnded';
      job.stoppedAt ??= clock.now();
      return 'stopping';
    },
  } satisfies ScriptedTraining;
}

const ended = ({ TrainingJobStatus: status }: TrainingJobDescription): boolean =>
  status === 'Completed' || status === 'Failed' || status === 'Stopped';

const FIRST: ScriptedStatus = { at: 0, status: 'InProgress', secondary: 'Starting' };

/** Only what has begun counts: an ended script outlives a stop that came after its end. */
function describe(job: Job, stopOver: boolean): TrainingJobDescription {
  const begun = job.script.slice(0, job.begun);
  const last = begun.at(-1) ?? FIRST;
  const timeOf = (at: number) => new Date(job.createdAt.getTime() + at * 1_000);
  const over = last.status !== 'InProgress';
  const stoppedAt = over ? undefined : job.stoppedAt;
  const end = over ? timeOf(last.at) : stopOver ? endOfStop(stoppedAt) : undefined;
  const first = begun.find(({ status, secondary }) => status === 'InProgress' && !WAITS.has(secondary));
  const trainingSeconds = first && end ? (end.getTime() - timeOf(first.at).getTime()) / 1_000 : 0;
  return {
    TrainingJobName: job.request.TrainingJobName,
    ...statusOf(last, stoppedAt, stopOver),
    CreationTime: job.createdAt,
    TrainingStartTime: first && timeOf(first.at),
    TrainingEndTime: end,
    TrainingTimeInSeconds: end && trainingSeconds,
    BillableTimeInSeconds: end && Math.round(trainingSeconds * 0.4),
    SecondaryStatusTransitions: begun.map(({ at, secondary: Status, message: StatusMessage }) => ({
      Status,
      StatusMessage,
      StartTime: timeOf(at),
    })),
    ModelArtifacts: { S3ModelArtifacts: `s3://memory-bucket/${job.request.TrainingJobName}/model.tar.gz` },
  };
}

const endOfStop = (stoppedAt: Date | undefined): Date | undefined =>
  stoppedAt && new Date(stoppedAt.getTime() + STOP_SECONDS * 1_000);

function statusOf(last: ScriptedStatus, stoppedAt: Date | undefined, stopOver: boolean) {
  if (stoppedAt === undefined) {
    return {
      TrainingJobStatus: last.status,
      SecondaryStatus: last.secondary,
      FailureReason: last.reason,
    };
  }
  const status = stopOver ? 'Stopped' : 'Stopping';
  return { TrainingJobStatus: status, SecondaryStatus: status };
}
