import * as z from 'zod';
import { judgementSchema, readJudgement } from '../../records/judgement.ts';
import { archiveSchema, currentOf, modelSchema } from '../../records/models.ts';
import { modelsOf } from '../../run/models/decide-models.ts';
import { ok, problem } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';

export const getModel = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/model',
    id: 'getModel',
    summary: 'Shows the model of a run, or that which a probe scores: its state, and how it was compared.',
    answer: z.object({
      uri: z.string(),
      startedFrom: archiveSchema.optional().describe('The model that it began from.'),
      model: modelSchema.optional().describe('Absent: not on record.'),
      current: modelSchema.optional().describe('The one in use.'),
      judgement: judgementSchema.optional().describe('Absent where it was not compared.'),
    }),
    refusals: [404, 409],
  },
  async (deps, { run }) => {
    const { runId, pipeline, modelUri, startedFrom, probe } = run;
    const [{ known }, judgement] = await Promise.all([
      modelsOf(deps, pipeline),
      readJudgement(deps.store, run),
    ]);
    const model = known.models.find((each) => each.runId === runId);
    // An evaluation alone shows the model that it scores.
    const uri = model?.uri ?? modelUri ?? (probe?.evaluates && startedFrom?.uri);
    if (uri === undefined) return problem(404, `${runId} has left no model`);
    return ok({ uri, startedFrom, model, current: currentOf(known), judgement });
  },
);
