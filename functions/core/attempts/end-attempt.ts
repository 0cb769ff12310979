/** A run that ends leaves no job behind: it stops a running job and waits for the job's figures. */
import { jobOf, portOf } from '../launch/launcher.ts';
import { TransientError } from '../shared/errors.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';

/**
 * Does nothing if the last attempt has its outcome, which is the usual case.
 * @throws TransientError while the job is being stopped, because a report needs the costs of all attempts
 */
export async function endOpenAttempt(deps: ObserveDeps, runId: string): Promise<void> {
  const last = (await deps.attempts.list(runId)).at(-1);
  if (last === undefined || last.outcome !== undefined) return;
  const seen = await observeAttempt(deps, last);
  if (seen.kind === 'ended') return;
  if (seen.kind === 'absent') {
    await deps.attempts.update(runId, last.attempt, {
      status: 'failed',
      outcome: {
        kind: 'stopped',
        message: 'the run ended before the job was created',
        trainingSeconds: 0,
        billableSeconds: 0,
        interruptions: 0,
      },
      updatedAt: deps.clock.now().toISOString(),
    });
    return;
  }
  await portOf(deps.launchers, last).stop(jobOf(last));
  throw new TransientError(
    `${last.jobName} is being stopped because its run has ended: the next try reports the run`,
  );
}
