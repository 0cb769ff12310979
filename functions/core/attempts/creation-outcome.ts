/** What follows from a job's creation: told and on the timeline, or refused, or an error whose class says whether to try again. */

import { launcherFacts } from '../catalog/launchers/registry.ts';
import type { CreateOutcome } from '../launch/job/training-service.ts';
import type { AttemptRecord } from '../runs/run-records.ts';
import { LaunchRefusedError, TransientError } from '../shared/errors.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';

export interface CreationDeps extends ObserveDeps {
  /** Of CloudWatch Logs, for hosts on EC2. */
  readonly hostLogGroup?: string | undefined;
}

interface Creation {
  readonly attempt: AttemptRecord;
  readonly created: CreateOutcome;
  readonly inputReason: string;
}

/** @throws LaunchRefusedError when the request will never be taken, TransientError when it may be later */
export async function settleCreation(deps: CreationDeps, creation: Creation): Promise<void> {
  const { attempt, created } = creation;
  switch (created.kind) {
    case 'created':
      return announce(deps, creation);
    case 'alreadyExists':
      // This very attempt, created before a crash: nobody may have been told, and it may have ended since.
      await announce(deps, creation);
      await observeAttempt(deps, attempt);
      return;
    case 'quota':
    case 'capacity':
      return refuse(deps, attempt, created);
    case 'invalid':
    case 'denied':
      throw new LaunchRefusedError(
        `${serviceOf(attempt)} does not take ${attempt.jobName}: ${created.message}`,
      );
    case 'throttled':
      throw new TransientError(
        `${serviceOf(attempt)} cannot take ${attempt.jobName} now: ${created.message}`,
      );
  }
}

const serviceOf = ({ launcher }: AttemptRecord): string => launcherFacts[launcher].serviceName;

/** SageMaker keeps the log of a job where it keeps all of them. */
const logOf = ({ hostLogGroup }: CreationDeps, { launcher, jobName }: AttemptRecord): string =>
  launcher === 'ec2' && hostLogGroup !== undefined
    ? `; log: ${hostLogGroup} in CloudWatch Logs, streams ${jobName}/…`
    : '';

async function announce(deps: CreationDeps, { attempt, inputReason }: Creation): Promise<void> {
  const { runId, pipeline, jobName, placement } = attempt;
  const { pool, topology } = placement;
  await deps.timeline.add(runId, {
    id: `started-${attempt.attempt}`,
    at: deps.clock.now().toISOString(),
    kind: 'AttemptStarted',
    text: `attempt ${attempt.attempt}: ${topology.nodes} x ${pool.instanceType} ${pool.purchaseOption}${pool.zoneId ? ` in ${pool.zoneId}` : ''}${pool.region ? ` (${pool.region})` : ''} on ${serviceOf(attempt)} (${jobName}); shards: ${inputReason}${logOf(deps, attempt)}`,
  });
  await deps.notifier.notify(
    { runId, pipeline },
    { type: 'AttemptStarted', attempt: attempt.attempt, jobName, ...pool },
  );
}

/** Refused at the door: an attempt that cost nothing, so that placement sees the refusal and looks elsewhere. */
async function refuse(
  deps: CreationDeps,
  attempt: AttemptRecord,
  { kind, message }: Extract<CreateOutcome, { readonly kind: 'quota' | 'capacity' }>,
): Promise<void> {
  const now = deps.clock.now().toISOString();
  const ended = await deps.attempts.update(attempt.runId, attempt.attempt, {
    status: 'interrupted',
    outcome: {
      kind: 'capacity',
      message,
      ...(kind === 'quota' && { quota: true }),
      // Other runs remember the refusal by its time, which later changes of the attempt must not move.
      endedAt: now,
      trainingSeconds: 0,
      billableSeconds: 0,
      interruptions: 0,
    },
    updatedAt: now,
  });
  await observeAttempt(deps, ended);
}
