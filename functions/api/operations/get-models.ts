import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { currentOf, modelSchema } from '../../records/models.ts';
import { modelsOf } from '../../run/models/decide-models.ts';
import { noPipeline, ok } from '../shared/answers.ts';
import { type ApiDeps, defineOperation, READS } from '../shared/operation.ts';

export const models = z.object({
  pipeline: z.string(),
  number: z.number().int().describe('Of the last decision; 0 before the first.'),
  current: modelSchema.optional(),
  models: list(modelSchema).describe('On record, the newest first: up to 200.'),
});

export async function shownModels(deps: ApiDeps, name: string) {
  const { known } = await modelsOf(deps, name);
  return { pipeline: name, number: known.number, current: currentOf(known), models: known.models };
}

export const getModels = defineOperation(
  {
    ...READS,
    route: 'GET /pipelines/{name}/models',
    id: 'getModels',
    summary: 'Shows the models on record, and which one is in use.',
    answer: models,
    refusals: [404],
  },
  async (deps, { parameters: { name } }) =>
    (await deps.pipelines.get(name)) === undefined ? noPipeline(name) : ok(await shownModels(deps, name)),
);
