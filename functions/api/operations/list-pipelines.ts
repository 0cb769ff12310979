import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { pipelineRecordSchema } from '../../records/batches.ts';
import { ok } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';
import { nextToken, pageQuery, readPage, unreadable } from '../shared/paging.ts';

export const listPipelines = defineOperation(
  {
    ...READS,
    route: 'GET /pipelines',
    id: 'listPipelines',
    summary: 'Lists pipelines by name.',
    query: pageQuery(100),
    answer: z.object({ pipelines: list(pipelineRecordSchema), unreadable, nextToken }),
  },
  async ({ pipelines }, { query }) => {
    const page = await readPage('pipelines', query, {
      read: (wanted) => pipelines.list(wanted),
      nameOf: ({ name }) => name,
      show: (pipeline) => pipeline,
    });
    if ('status' in page) return page;
    const { items, ...rest } = page;
    return ok({ pipelines: items, ...rest });
  },
);
