import { compactionItemSchema, packCompaction } from '@tidewheel/packing/compact.ts';
import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { withPacking } from '../../wiring/packing-context.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), item: compactionItemSchema });

export const handler = lambdaHandler('compact-shards', input, ({ runId, pipeline, item }) =>
  withPacking(runId, ({ store, packing }) => packCompaction({ store }, { pipeline, packing, item })),
);
