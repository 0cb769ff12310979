/** Plans, packs and seals one run, in a process that a test may kill at any moment. */

import { openBlobStore } from '../../../functions/aws/s3/open-store.ts';
import { readText } from '../../../functions/core/packing/model/blob-store.ts';
import { itemSchema } from '../../../functions/core/packing/model/documents.ts';
import { planShards } from '../../../functions/core/packing/plan/plan-shards.ts';
import { sealDataset } from '../../../functions/core/packing/seal/seal-dataset.ts';
import { packItem } from '../../../functions/core/packing/shard/pack-item.ts';
import { packingSchema } from '../../../functions/core/pipeline/packing.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
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
