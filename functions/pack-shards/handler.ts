import * as z from 'zod';
import { openImageEngine } from '../aws/images/image-engine.ts';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { itemSchema } from '../core/packing/model/documents.ts';
import { packItem } from '../core/packing/shard/pack-item.ts';
import { KeptMemory } from '../core/packing/shard/pack-memory.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), item: itemSchema });

const memory = new KeptMemory();

export const handler = lambdaHandler('pack-shards', input, ({ runId, pipeline, item }) =>
  withPacking(runId, ({ store, packing }) =>
    packItem({ store, memory, images: openImageEngine }, { runId, pipeline, packing, item }),
  ),
);
