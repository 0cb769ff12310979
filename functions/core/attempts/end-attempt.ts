/** A run that ends leaves no job behind: what still runs is stopped, and its figures are waited for. */
import { jobOf, portOf } from '../launch/launcher.ts';
import { TransientError } from '../shared/errors.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';

/**
 * Does nothing for a run whose last attempt has its outcome, as every run has that ended in the ordinary way.
 * @throws TransientError while the job is being stopped: the report holds the costs of all attempts or is not written
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
  throw new TransientError(`${last.jobName} is being stopped, because its run has ended`);
}
