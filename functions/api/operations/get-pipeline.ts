import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { upgradedText } from '@tidewheel/declaration/pipeline.ts';
import * as z from 'zod';
import { pipelineRecordSchema } from '../../records/batches.ts';
import { noPipeline, ok } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';

export const getPipeline = defineOperation(
  {
    ...READS,
    route: 'GET /pipelines/{name}',
    id: 'getPipeline',
    summary: 'Shows a pipeline: its declaration, its problems and its open batch.',
    /** The record is absent for a moment after the declaration came into the bucket by another way. */
    answer: pipelineRecordSchema
      .partial()
      .extend({ name: z.string(), declaration: z.string().describe('YAML, as it was written.') }),
    refusals: [404],
  },
  async ({ pipelines, store }, { parameters: { name } }) => {
    const [record, stored] = await Promise.all([
      pipelines.get(name),
      store.readText(bucketKeys.pipeline(name)),
    ]);
    if (stored === undefined) return noPipeline(name);
    return ok({ ...record, name, declaration: upgradedText(stored.text) });
  },
);
