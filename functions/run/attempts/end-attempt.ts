/** A run that ends leaves no job behind: it stops a running job and waits for the job's figures. */

import { TransientError } from '@tidewheel/kit/errors.ts';
import { jobOf, portOf } from '../../launch/launcher.ts';
import type { AttemptRecord } from '../../records/run-records.ts';
import { endEntryOf, endWithoutJob, type ObserveDeps, observeAttempt } from './observe-attempt.ts';

/**
 * Usually the last attempt has its outcome and every end is announced, so there is nothing to do.
 * @throws TransientError while a job is being stopped, because a report needs the costs of all attempts
 */
export async function endOpenAttempts(deps: ObserveDeps, runId: string): Promise<void> {
  const attempts = await deps.attempts.list(runId);
  await announceEnds(deps, runId, attempts);
  for (const attempt of attempts) if (attempt.outcome === undefined) await endAttempt(deps, attempt);
}

async function endAttempt(deps: ObserveDeps, attempt: AttemptRecord): Promise<void> {
  const seen = await observeAttempt(deps, attempt);
  if (seen.kind === 'ended') return;
  if (seen.kind === 'absent') {
    const message = 'the run ended before the job was created';
    await endWithoutJob(deps, attempt, { kind: 'stopped', message });
    return;
  }
  await portOf(deps.launchers, attempt).stop(jobOf(attempt));
  throw new TransientError(
    `${attempt.jobName} is being stopped because its run has ended: the next try reports the run`,
  );
}

/** A process may have died between recording an end and announcing it, and no later state of the run looked again. */
async function announceEnds(
  deps: ObserveDeps,
  runId: string,
  attempts: readonly AttemptRecord[],
): Promise<void> {
  const announced = new Set((await deps.timeline.list(runId)).map(({ id }) => id));
  for (const attempt of attempts)
    if (attempt.outcome !== undefined && !announced.has(endEntryOf(attempt)))
      await observeAttempt(deps, attempt);
}
