/** The answer to a person who has the checkpoints of an ended run deleted. */
import { FINISHED, type RunRecord } from '../runs/run-records.ts';
import type { Stores } from '../runs/stores.ts';
import type { Clock } from '../shared/ports.ts';
import { type AnswerOf, accepted, noRun, problem, type RequestOf } from './answers.ts';

interface DeletionDeps extends Pick<Stores, 'runs' | 'timeline'> {
  readonly clock: Clock;
}

/**
 * Idempotent. The request is recorded, and the daily `expire-runs` deletes: a run may have millions of objects, and a retry
 * that comes first keeps them.
 */
export async function deleteCheckpoints(
  deps: DeletionDeps,
  { parameters, caller }: RequestOf<'DELETE /runs/{runId}/checkpoints'>,
): AnswerOf<'DELETE /runs/{runId}/checkpoints'> {
  const runId = parameters['runId'] ?? '';
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  if (!FINISHED.includes(run.status))
    return problem(
      409,
      run.stop === undefined
        ? `${runId} is ${run.status} and needs its checkpoints: stop it first (POST /runs/${runId}/stop)`
        : `${runId} is being stopped: make the same call after its end`,
    );
  const isDeleted = run.expired?.includes('checkpoints') === true;
  const asked = isDeleted || run.checkpointDeletion !== undefined ? run : await record(deps, run, caller);
  return accepted({ runId, status: run.status, deletion: asked.checkpointDeletion, isDeleted });
}

async function record(
  { runs, timeline, clock }: DeletionDeps,
  { runId, status, updatedAt, retry }: RunRecord,
  caller: string | undefined,
): Promise<RunRecord> {
  const at = clock.now().toISOString();
  const requestedBy = caller ?? 'an unknown caller';
  // The status brings back a run that had nothing more to expire. The time of the end stays: other files expire by it.
  const changed = await runs.update(runId, { checkpointDeletion: { at, requestedBy }, status, updatedAt });
  await timeline.add(runId, {
    id: `checkpoints-${retry?.number ?? 0}`,
    at,
    kind: 'CheckpointDeletionRequested',
    text: `its checkpoints are deleted within a day, as ${requestedBy} asked`,
  });
  return changed;
}
