import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, notifier, tableStores } from '../aws/lambda/services.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { announceSeal } from '../core/attempts/announce-seal.ts';
import { sealDataset } from '../core/packing/seal/seal-dataset.ts';

const input = z.object({ runId: z.string(), pipeline: z.string() });

export const handler = lambdaHandler('seal-dataset', input, async ({ runId, pipeline }) => {
  const sealed = await withPacking(runId, ({ store, packing }) =>
    sealDataset({ store }, { runId, pipeline, packing }),
  );
  return announceSeal({ ...tableStores(), notifier: notifier(), clock }, { runId, pipeline }, sealed);
});
