import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { packCompaction } from '../core/packing/compaction/compact-shards.ts';
import { compactionItemSchema } from '../core/packing/compaction/plan-compaction.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), item: compactionItemSchema });

export const handler = lambdaHandler('compact-shards', input, ({ runId, pipeline, item }) =>
  withPacking(runId, ({ store, packing }) => packCompaction({ store }, { pipeline, packing, item })),
);
