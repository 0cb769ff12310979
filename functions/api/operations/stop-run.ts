import { seconds, usd } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { readProgress } from '../../records/progress.ts';
import {
  FINISHED,
  type RunRecord,
  runStatusSchema,
  STOP_MODES,
  stopSchema,
} from '../../records/run-records.ts';
import { requestStop as stop } from '../../run/attempts/stop-run.ts';
import { type UnsavedWork, unsavedWork } from '../../run/attempts/unsaved.ts';
import { accepted, problem } from '../shared/answers.ts';
import { type ApiDeps, CHANGES, defineRunOperation, jsonBodyOf } from '../shared/operation.ts';

const stopBody = z.strictObject({
  mode: z
    .enum(STOP_MODES)
    .default('afterSave')
    .describe('now: hosts on EC2 end without a last save; SageMaker always leaves 120 seconds for one.'),
});

/** Idempotent: a repeated call gets the answer of the first one. */
export const stopRun = defineRunOperation(
  {
    ...CHANGES,
    route: 'POST /runs/{runId}/stop',
    id: 'stopRun',
    risk: 'loss',
    summary: 'Ends a run, after a save or now.',
    body: { schema: stopBody, required: false },
    status: 202,
    answer: z.object({
      runId: z.string(),
      status: runStatusSchema,
      stop: stopSchema,
      unsaved: z
        .object({ seconds, usd, step: z.number().optional().describe('Of the newest checkpoint.') })
        .optional()
        .describe('What a script that saves nothing now loses.'),
    }),
  },
  async (deps, { run: known, body, caller }) => {
    const { runId } = known;
    const asked = jsonBodyOf(stopBody, body);
    if (!asked.ok) return problem(400, 'the stop is not valid', asked.problems);
    if (FINISHED.includes(known.status) && known.stop === undefined) return ended(known);
    deps.preview?.(lossText(await unsavedOf(deps, known)));
    const run = await stop(deps, { runId, mode: asked.value.mode, requestedBy: caller });
    if (run.stop === undefined) return ended(run);
    const unsaved = FINISHED.includes(run.status) ? undefined : await unsavedOf(deps, run);
    return accepted({ runId, status: run.status, stop: run.stop, unsaved });
  },
);

const lossText = (unsaved: UnsavedWork | undefined): string =>
  unsaved === undefined
    ? 'Nothing trains now'
    : `A script that saves nothing at the stop loses ${unsaved.seconds} s ($${unsaved.usd.toFixed(2)}), ${unsaved.step === undefined ? 'all that it trained' : `since step ${unsaved.step}`}`;

const ended = ({ runId, status }: RunRecord) =>
  problem(409, `${runId} has ended (${status}): there is nothing to stop`);

async function unsavedOf({ attempts, store, clock }: ApiDeps, run: RunRecord) {
  const last = (await attempts.list(run.runId)).at(-1);
  return last && unsavedWork(last, await readProgress(store, run.pipeline, run.runId), clock.now());
}
