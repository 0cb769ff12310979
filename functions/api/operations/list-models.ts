import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { currentOf, modelSchema } from '../../records/models.ts';
import { modelsOf } from '../../run/models/decide-models.ts';
import { ok } from '../shared/answers.ts';
import { type ApiDeps, defineOperation, READS } from '../shared/operation.ts';
import { leftOut, nextToken, pageQuery, readPage, unreadable } from '../shared/paging.ts';

const MOST_MEANS = 20;

const modelInUse = z.object({
  pipeline: z.string(),
  current: modelSchema.optional().describe('The one in use.'),
  waiting: modelSchema.optional().describe('The newest one, where it is a candidate: a person decides.'),
  metric: z.string().optional().describe('By which they were compared.'),
  means: list(z.number()).describe('Of that metric: of the newest 20, the newest last.'),
});

export const listModels = defineOperation(
  {
    ...READS,
    route: 'GET /models',
    id: 'listModels',
    summary: 'Lists for each pipeline the model in use, and one that waits for a person.',
    query: pageQuery(100),
    answer: z.object({ models: list(modelInUse), unreadable, nextToken }),
  },
  async (deps, { query }) => {
    // Its pages are those of the list of pipelines, whose tokens it takes.
    const page = await readPage('pipelines', query, {
      read: (wanted) => deps.pipelines.list(wanted),
      nameOf: ({ name }) => name,
      show: ({ name }, tell) => inUse(deps, name).catch(leftOut(name, tell)),
    });
    if ('status' in page) return page;
    const { items, ...rest } = page;
    return ok({ models: items, ...rest });
  },
);

async function inUse(deps: ApiDeps, pipeline: string): Promise<z.input<typeof modelInUse>> {
  const { known } = await modelsOf(deps, pipeline);
  const [newest] = known.models;
  const { metric } = known.models.find(({ judged }) => judged?.mean !== undefined)?.judged ?? {};
  const means = known.models.flatMap(({ judged }) =>
    judged?.mean !== undefined && judged.metric === metric ? [judged.mean] : [],
  );
  return {
    pipeline,
    current: currentOf(known),
    waiting: newest?.state === 'candidate' ? newest : undefined,
    metric,
    means: means.slice(0, MOST_MEANS).toReversed(),
  };
}
