import { itemSchema } from '@tidewheel/packing/dataset.ts';
import { KeptMemory, packItem } from '@tidewheel/packing/pack.ts';
import * as z from 'zod';
import { openImageEngine } from '../../aws/images/image-engine.ts';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { withPacking } from '../../wiring/packing-context.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), item: itemSchema });

const memory = new KeptMemory();

export const handler = lambdaHandler('pack-shards', input, ({ runId, pipeline, item }) =>
  withPacking(runId, ({ store, packing }) =>
    packItem({ store, memory, images: openImageEngine }, { runId, pipeline, packing, item }),
  ),
);
