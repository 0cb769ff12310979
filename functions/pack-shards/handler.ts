import * as z from 'zod';
import { openImageEngine } from '../aws/image-engine.ts';
import { onion } from '../aws/onion.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { packItem } from '../core/packing/pack-item.ts';
import { itemSchema } from '../core/packing/records.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), item: itemSchema });

export const handler = onion('pack-shards', input, ({ runId, pipeline, item }) =>
  withPacking(runId, ({ store, packing }) =>
    packItem({ store, images: openImageEngine }, { runId, pipeline, packing, item }),
  ),
);
