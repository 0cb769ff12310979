/** Plans, packs and seals one run, in a process that a test may kill at any moment. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { itemSchema } from '@tidewheel/packing/dataset.ts';
import { packItem } from '@tidewheel/packing/pack.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { readText } from '@tidewheel/packing/store.ts';
import { openBlobStore } from '../../../functions/aws/s3/open-store.ts';
import { TEST_KEY } from '../../support/emulator.ts';

const [endpoint = '', bucket = '', pipeline = '', runId = '', settings = '{}'] = process.argv.slice(2);
const packing = packingSchema.parse(JSON.parse(settings));
await using opened = await openBlobStore({
  bucket,
  endpoint,
  region: 'us-east-1',
  credentials: () => Promise.resolve(TEST_KEY),
  silenceMilliseconds: 2_000,
  retry: { attempts: 12, baseMilliseconds: 2, maximumMilliseconds: 200 },
});
const { store } = opened;
const upload = { partBytes: 5 * 1024 * 1024, parallelParts: 2 };
await planShards({ store, now: () => new Date() }, { runId, pipeline, packing });
const items = itemSchema
  .array()
  .parse(JSON.parse((await readText(store, bucketKeys.planItems(pipeline, runId))) ?? ''));
for (const item of items) await packItem({ store, upload }, { runId, pipeline, packing, item });
process.stdout.write(JSON.stringify(await sealDataset({ store }, { runId, pipeline, packing })));
