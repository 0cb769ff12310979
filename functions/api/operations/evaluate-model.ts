import { datasetSettings, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { checkDeclaration } from '@tidewheel/declaration/read.ts';
import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { pinOfNewest } from '../../records/dataset-version.ts';
import { isUncompared } from '../../records/models.ts';
import { evaluateAlone, openEvaluation } from '../../run/attempts/evaluate-alone.ts';
import { modelToScore } from '../../run/models/choose-model.ts';
import { accepted, problem, type Refusal, refused } from '../shared/answers.ts';
import { beyondFence } from '../shared/fence.ts';
import { type ApiDeps, CHANGES, defineOperation, jsonBodyOf } from '../shared/operation.ts';
import { whyNoData } from '../shared/overrides.ts';
import { storedDeclaration } from '../shared/stored-declaration.ts';

const INVALID = 'the evaluation is not valid';

const evaluationBody = z.strictObject({
  runId: z.string().optional().describe('Whose model it is; default: the one in use.'),
  on: list(z.string())
    .optional()
    .describe('Other samples than those of evaluation.on: what they show decides nothing.'),
});

/** Idempotent while the evaluation runs. */
export const evaluateModel = defineOperation(
  {
    ...CHANGES,
    route: 'POST /pipelines/{name}/evaluations',
    id: 'evaluateModel',
    risk: 'money',
    summary: 'Scores a model by the declared script, alone, and compares it with the one in use.',
    body: { schema: evaluationBody, required: false },
    status: 202,
    answer: z.object({
      runId: z.string().describe('A probe; its `judged` has the comparison.'),
      kind: z.enum(['started', 'running']),
      model: z.string().describe('The run whose model it scores.'),
    }),
  },
  async (deps, { parameters: { name }, body, caller, fence }) => {
    const asked = jsonBodyOf(evaluationBody, body);
    if (!asked.ok) return problem(400, INVALID, asked.problems);
    const { runId, on } = asked.value;
    const declaration = await declarationOf(deps, name, on);
    if ('status' in declaration) return declaration;
    const batch = ((await deps.pipelines.get(name))?.openBatch ?? 1) - 1;
    const missing = await whyNoData(deps.store, { runId: name, pipeline: name, batch, declaration });
    if (missing !== undefined) return refused(INVALID, [missing]);
    const model = await modelToScore(deps, name, runId);
    if (typeof model === 'string') return problem(409, model);
    const ofRun = model.runId;
    const of = { runId: ofRun, decides: on === undefined && 'state' in model && isUncompared(model) };
    const known = await openEvaluation(deps, declaration, of);
    const bound = declaration.limits.budgetUsd;
    const commitment = { runId: known?.runId ?? 'the evaluation', bound, before: 0 };
    const beyond = await beyondFence(deps, fence, commitment);
    if (beyond !== undefined) return beyond;
    const begun = await evaluateAlone(deps, {
      declaration,
      batch,
      requestedBy: caller,
      model,
      of,
    });
    return accepted({ ...begun, model: ofRun });
  },
);

/** The newest sealed data is scored, by the declaration as it is now. */
async function declarationOf(
  deps: ApiDeps,
  name: string,
  on: readonly string[] | undefined,
): Promise<Pipeline | Refusal> {
  const stored = await storedDeclaration({ ...deps, notifiedMarker: undefined }, name);
  if ('status' in stored) return stored;
  const { evaluation, dataset } = stored.pipeline;
  if (evaluation === undefined)
    return refused(INVALID, [
      { path: 'evaluation', message: 'is not declared: name the script that scores a model' },
    ]);
  const pin = dataset?.pin ?? (await pinOfNewest(deps.store, name));
  const checked = checkDeclaration(name, {
    ...stored.pipeline,
    evaluation: { ...evaluation, ...(on && { on }) },
    ...(pin !== undefined && { dataset: { ...datasetSettings(dataset), pin } }),
  });
  return checked.valid ? checked.pipeline : problem(400, INVALID, checked.problems);
}
