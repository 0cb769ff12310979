import { type PipelineRecord, pipelineRecordSchema } from '../../records/batches.ts';
import { recordOf } from '../../records/stored-records.ts';
import type { PipelineStore } from '../../records/stores.ts';
import { type Key, LIST_INDEX, type StoredTable } from './table.ts';

const ALL_PIPELINES = 'PIPELINES';

export const pipelineKey = (name: string): Key => ({ pk: `PIPELINE#${name}`, sk: 'PIPELINE' });

export function pipelineStore(table: StoredTable): PipelineStore {
  const get = async (name: string) => {
    const item = await table.get(pipelineKey(name));
    return item && recordOf(pipelineRecordSchema, item);
  };
  return {
    get,
    list: async ({ after, ...page } = {}) => {
      const input = {
        IndexName: LIST_INDEX,
        KeyConditionExpression: `listKey = :all${after === undefined ? '' : ' AND pk > :after'}`,
        ExpressionAttributeValues: {
          ':all': ALL_PIPELINES,
          ...(after !== undefined && { ':after': pipelineKey(after).pk }),
        },
      };
      return table.query(pipelineRecordSchema, input, page);
    },
    ensure: async (name, { firstBatch, at, ...close }) => {
      const fresh: PipelineRecord = { name, openBatch: firstBatch, valid: false, updatedAt: at, ...close };
      const created = await table.create({ ...pipelineKey(name), listKey: ALL_PIPELINES, ...fresh });
      return created === 'created' ? fresh : ((await get(name)) ?? fresh);
    },
    setValidity: async (name, { problems, ...validity }) => {
      await table.update(pipelineKey(name), {
        listKey: ALL_PIPELINES,
        removedAt: undefined,
        declarationEtag: undefined,
        ...validity,
        problems: problems?.length ? problems : undefined,
      });
    },
    remove: async (name, at) => {
      const removed = { valid: false, declarationEtag: undefined, problems: undefined };
      await table.update(pipelineKey(name), {
        ...removed,
        listKey: undefined,
        removedAt: at,
        updatedAt: at,
      });
    },
    setSwept: async (name, { sweptAt, sweptObjects }) => {
      await table.update(pipelineKey(name), { sweptAt, sweptObjects });
    },
  };
}
