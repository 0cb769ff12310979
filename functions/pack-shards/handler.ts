import * as z from 'zod';
import { openImageEngine } from '../aws/images/image-engine.ts';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { packCompaction } from '../core/packing/compaction/compact-shards.ts';
import { compactionItemSchema } from '../core/packing/compaction/plan-compaction.ts';
import { itemSchema } from '../core/packing/model/documents.ts';
import { packItem } from '../core/packing/shard/pack-item.ts';

const input = z.object({
  runId: z.string(),
  pipeline: z.string(),
  item: z.union([compactionItemSchema, itemSchema]),
});

export const handler = lambdaHandler('pack-shards', input, ({ runId, pipeline, item }) =>
  withPacking(runId, ({ store, packing }) =>
    'generation' in item
      ? packCompaction({ store }, { pipeline, packing, item })
      : packItem({ store, images: openImageEngine }, { runId, pipeline, packing, item }),
  ),
);
