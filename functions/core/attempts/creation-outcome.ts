/**
 * Handles the outcome of a job's creation. A created job is announced. A capacity error ends the attempt. Any other error
 * is thrown, and its class decides whether the state machine retries.
 */

import { launcherFacts } from '../catalog/launchers/registry.ts';
import type { CreateOutcome } from '../launch/job/training-service.ts';
import type { PreparedJob } from '../launch/launcher.ts';
import type { AttemptRecord } from '../runs/run-records.ts';
import { LaunchRefusedError, TransientError } from '../shared/errors.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';

interface Creation {
  readonly attempt: AttemptRecord;
  readonly created: CreateOutcome;
  readonly prepared: Pick<PreparedJob, 'inputReason' | 'log'>;
}

/** @throws LaunchRefusedError when no retry can succeed, TransientError when a retry may */
export async function recordCreateOutcome(deps: ObserveDeps, creation: Creation): Promise<void> {
  const { attempt, created } = creation;
  switch (created.kind) {
    case 'created':
      return announce(deps, creation);
    case 'alreadyExists':
      // A crash followed the creation: the job may not be announced, and it may have ended.
      await announce(deps, creation);
      await observeAttempt(deps, attempt);
      return;
    case 'quota':
    case 'capacity':
      return recordCapacityError(deps, attempt, created);
    case 'invalid':
    case 'denied':
      throw new LaunchRefusedError(`${serviceOf(attempt)} rejects ${attempt.jobName}: ${created.message}`);
    case 'throttled':
      throw new TransientError(
        `${serviceOf(attempt)} cannot start ${attempt.jobName} now: ${created.message}`,
      );
  }
}

const serviceOf = ({ launcher }: AttemptRecord): string => launcherFacts[launcher].serviceName;

async function announce(deps: ObserveDeps, { attempt, prepared }: Creation): Promise<void> {
  const { inputReason, log } = prepared;
  const { runId, pipeline, jobName, placement } = attempt;
  const { pool, topology } = placement;
  await deps.timeline.add(runId, {
    id: `started-${attempt.attempt}`,
    at: deps.clock.now().toISOString(),
    kind: 'AttemptStarted',
    text: `attempt ${attempt.attempt}: ${topology.nodes} x ${pool.instanceType} ${pool.purchaseOption}${pool.zoneId ? ` in ${pool.zoneId}` : ''}${pool.region ? ` (${pool.region})` : ''} on ${serviceOf(attempt)} (${jobName}); shards: ${inputReason}${log === undefined ? '' : `; log: ${log}`}`,
  });
  await deps.notifier.notify(
    { runId, pipeline },
    { type: 'AttemptStarted', attempt: attempt.attempt, jobName, ...pool },
  );
}

/** Ends the attempt at no cost, so that placement sees the error and chooses another pool. */
async function recordCapacityError(
  deps: ObserveDeps,
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
      // Other runs keep the error by its time, which later changes of the attempt must not move.
      endedAt: now,
      trainingSeconds: 0,
      billableSeconds: 0,
      interruptions: 0,
    },
    updatedAt: now,
  });
  await observeAttempt(deps, ended);
}
