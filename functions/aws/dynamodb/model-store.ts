/** The models of a pipeline: a put that names the number before is the decision. */
import { pipelineModelsSchema } from '../../records/models.ts';
import { recordOf } from '../../records/stored-records.ts';
import type { ModelStore } from '../../records/stores.ts';
import { listOpen } from './run-store.ts';
import type { Key, StoredTable } from './table.ts';

const modelsKey = (pipeline: string): Key => ({ pk: `PIPELINE#${pipeline}`, sk: 'MODELS' });

export const modelStore = (table: StoredTable): ModelStore => ({
  get: async (pipeline) => {
    const item = await table.get(modelsKey(pipeline));
    return item && recordOf(pipelineModelsSchema, item);
  },
  put: async (models, before) => {
    const item = { ...models, open: 'MODELS' };
    if (before === undefined)
      return (await table.create({ ...modelsKey(models.pipeline), ...item })) === 'created';
    return (await table.update(modelsKey(models.pipeline), item, { number: before })) !== undefined;
  },
  setPublished: async (pipeline, number) =>
    (await table.update(modelsKey(pipeline), { news: [], open: undefined }, { number })) !== undefined,
  listUnpublished: (tell) => listOpen(table, pipelineModelsSchema, 'MODELS', tell),
});
