import type { PipelineRecord } from '../../core/runs/batches.ts';
import type { RunStore } from '../../core/runs/run-store.ts';
import { type Key, LIST_INDEX, recordOf, type StoredTable } from './table.ts';

const ALL_PIPELINES = 'PIPELINES';

export const pipelineKey = (name: string): Key => ({ pk: `PIPELINE#${name}`, sk: 'PIPELINE' });

export function pipelineMethods(
  table: StoredTable,
): Pick<RunStore, 'getPipeline' | 'listPipelines' | 'ensurePipeline' | 'setPipelineValidity'> {
  const get = async (name: string) => {
    const item = await table.get(pipelineKey(name));
    return item && recordOf<PipelineRecord>(item);
  };
  return {
    getPipeline: get,
    listPipelines: async () => {
      const items = await table.query({
        IndexName: LIST_INDEX,
        KeyConditionExpression: 'listKey = :all',
        ExpressionAttributeValues: { ':all': ALL_PIPELINES },
      });
      return items.map((item) => recordOf<PipelineRecord>(item)).sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    ensurePipeline: async (name, { firstBatch, at }) => {
      const fresh: PipelineRecord = { name, openBatch: firstBatch, valid: true, updatedAt: at };
      const created = await table.create({ ...pipelineKey(name), listKey: ALL_PIPELINES, ...fresh });
      return created === 'created' ? fresh : ((await get(name)) ?? fresh);
    },
    setPipelineValidity: async (name, { valid, problems, updatedAt }) => {
      await table.update(pipelineKey(name), {
        valid,
        problems: problems?.length ? problems : undefined,
        updatedAt,
      });
    },
  };
}
