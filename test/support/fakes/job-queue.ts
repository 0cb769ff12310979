/** A job queue in memory: jobs wait, start, run, and end when a test or `terminate` says so. */
import type { Clock } from '@tidewheel/kit/clock.ts';
import type { CreateOutcome } from '../../../functions/launch/job/training-service.ts';
import type { JobQueue, QueuedJob, QueueRequest } from '../launcher-template/template-launcher.ts';

interface MemoryJobQueue extends JobQueue {
  readonly requests: ReadonlyMap<string, QueueRequest>;
  finish(jobName: string): void;
  /** EC2 takes the job's host back. */
  loseHost(jobName: string): void;
}

const START_SECONDS = 30;

export function memoryJobQueue(
  clock: Clock,
  createError: () => CreateOutcome | undefined = () => undefined,
): MemoryJobQueue {
  const requests = new Map<string, QueueRequest>();
  const jobs = new Map<string, QueuedJob>();
  const now = (name: string): QueuedJob | undefined => {
    const job = jobs.get(name);
    if (job?.status !== 'waiting') return job;
    const startedAt = new Date(job.createdAt.getTime() + START_SECONDS * 1_000);
    return startedAt > clock.now() ? job : { ...job, status: 'running', startedAt };
  };
  const end = (name: string, change: Pick<QueuedJob, 'status' | 'reason'>): void => {
    const job = now(name);
    if (job?.endedAt === undefined && job !== undefined)
      jobs.set(name, { ...job, ...change, endedAt: clock.now() });
  };
  return {
    requests,
    submit: (request) => {
      if (jobs.has(request.name)) return Promise.resolve({ kind: 'alreadyExists' });
      const error = createError();
      if (error !== undefined) return Promise.resolve(error);
      requests.set(request.name, request);
      jobs.set(request.name, { name: request.name, status: 'waiting', createdAt: clock.now() });
      return Promise.resolve({ kind: 'created', arn: `job-${request.name}` });
    },
    find: (name) => Promise.resolve(now(name)),
    terminate: (name, reason) => Promise.resolve(end(name, { status: 'failed', reason })),
    finish: (name) => end(name, { status: 'succeeded' }),
    loseHost: (name) => end(name, { status: 'failed', reason: 'Host EC2 (instance i-0a1b) terminated.' }),
  };
}
