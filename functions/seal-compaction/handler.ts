import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, tableStores } from '../aws/lambda/services.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { announceCompaction } from '../core/attempts/announce-compaction.ts';
import { sealCompaction } from '../core/packing/compaction/seal-compaction.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), generation: z.string() });

export const handler = lambdaHandler('seal-compaction', input, async ({ runId, pipeline, generation }) => {
  const sealed = await withPacking(runId, ({ store, packing }) =>
    sealCompaction(store, { pipeline, packing, generation }),
  );
  return announceCompaction({ ...tableStores(), clock }, { runId }, sealed);
});
