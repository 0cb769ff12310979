import * as z from 'zod';
import { pipelineRecordSchema } from '../../runs/batches.ts';
import { list } from '../../shared/fields.ts';
import { ok, problem } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';
import { nextToken, pageOf, pageQuery, requestedPage, steppedOver, unreadable } from '../shared/paging.ts';

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
    const page = requestedPage('pipelines', query);
    if ('problem' in page) return problem(400, page.problem);
    const { tell, said } = steppedOver();
    const found = await pipelines.list({ ...page, limit: page.limit + 1, tell });
    const { items, ...next } = pageOf('pipelines', { found, limit: page.limit }, ({ name }) => name);
    return ok({ pipelines: items, ...said(), ...next });
  },
);
