import * as z from 'zod';
import { onion } from '../aws/onion.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { clock, notifier, runs } from '../aws/services.ts';
import { announceSeal } from '../core/announce-seal.ts';
import { sealDataset } from '../core/packing/seal.ts';

const input = z.object({ runId: z.string(), pipeline: z.string() });

export const handler = onion('seal-dataset', input, async ({ runId, pipeline }) => {
  const sealed = await withPacking(runId, ({ store, packing }) =>
    sealDataset({ store }, { runId, pipeline, packing }),
  );
  return announceSeal({ runs: runs(), notifier: notifier(), clock }, { runId, pipeline }, sealed);
});
