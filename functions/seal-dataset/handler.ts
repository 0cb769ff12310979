import * as z from 'zod';
import { onion } from '../aws/onion.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { sealDataset } from '../core/packing/seal.ts';

const input = z.object({ runId: z.string(), pipeline: z.string() });

export const handler = onion('seal-dataset', input, ({ runId, pipeline }) =>
  withPacking(runId, ({ store, packing }) => sealDataset({ store }, { runId, pipeline, packing })),
);
