import { time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { FINISHED, type RunRecord, runStatusSchema } from '../../records/run-records.ts';
import { accepted, problem } from '../shared/answers.ts';
import { type ApiDeps, CHANGES, defineRunOperation } from '../shared/operation.ts';

/**
 * Idempotent. The request is recorded, and the daily `expire-runs` deletes: a run may have millions of objects, and a retry
 * that comes first keeps them.
 */
export const deleteCheckpoints = defineRunOperation(
  {
    ...CHANGES,
    route: 'DELETE /runs/{runId}/checkpoints',
    id: 'deleteCheckpoints',
    risk: 'loss',
    summary: 'Deletes the checkpoints of an ended run before their time.',
    status: 202,
    answer: z.object({
      runId: z.string(),
      status: runStatusSchema,
      deletion: z.object({ at: time, requestedBy: z.string().describe('Who asked.') }).optional(),
      isDeleted: z.boolean().describe('Whether nothing is left; else they are deleted within a day.'),
    }),
  },
  async (deps, { run, caller }) => {
    const { runId, status } = run;
    if (!FINISHED.includes(status))
      return problem(
        409,
        run.stop === undefined
          ? `${runId} is ${status} and needs its checkpoints: stop it first (POST /runs/${runId}/stop)`
          : `${runId} is being stopped: make the same call after its end`,
      );
    const isDeleted = run.expired?.includes('checkpoints') === true;
    const asked = isDeleted || run.checkpointDeletion !== undefined ? run : await record(deps, run, caller);
    return accepted({ runId, status, deletion: asked.checkpointDeletion, isDeleted });
  },
);

async function record(
  { runs, timeline, clock }: ApiDeps,
  { runId, status, updatedAt, retry }: RunRecord,
  requestedBy: string,
): Promise<RunRecord> {
  const at = clock.now().toISOString();
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
