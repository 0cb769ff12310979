/** The data path against two independent S3 servers. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenStore } from '../../../functions/aws/s3/open-store.ts';
import { readText } from '../../../functions/core/packing/model/blob-store.ts';
import { readPlan } from '../../../functions/core/packing/model/committed-plan.ts';
import { readSealedManifest } from '../../../functions/core/packing/model/sealed-arrivals.ts';
import { planShards } from '../../../functions/core/packing/plan/plan-shards.ts';
import { sealDataset } from '../../../functions/core/packing/seal/seal-dataset.ts';
import { packItem } from '../../../functions/core/packing/shard/pack-item.ts';
import { verifyGeneration } from '../../../functions/core/packing/verify/verify.ts';
import { packingSchema } from '../../../functions/core/pipeline/packing.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { describesBlobStore } from '../../support/contracts/blob-store.ts';
import { startTestEmulator } from '../../support/emulator.ts';
import { openTestBucket } from '../../support/test-bucket.ts';
import { type RunningServer, startMoto } from './tools.ts';

const BUCKET = 'wire';

const SERVERS: readonly [string, () => Promise<RunningServer>][] = [
  ['MiniStack', () => startTestEmulator()],
  ['moto', startMoto],
];

describe.each(SERVERS)('the data path on %s', (name, start) => {
  let server: RunningServer;
  let opened: OpenStore;

  beforeAll(async () => {
    server = await start();
    opened = await openTestBucket(server.url, BUCKET);
  }, 300_000);

  afterAll(async () => {
    await opened[Symbol.asyncDispose]();
    await server.stop();
  });

  describesBlobStore({
    open: () => opened.store,
    knowsGoneUploads: name !== 'moto',
    checksCopies: name !== 'moto',
    takesLineEnds: name !== 'moto',
  });

  it('builds equal shards from copied and read lines', async () => {
    const { store } = opened;
    const [first, second] = [`${'row\n'.repeat(3_000_000)}last`, 'more\n'.repeat(2_500_000)];
    await store.put('lines/incoming/a.txt', Buffer.from(first));
    await store.put('lines/incoming/b.txt', Buffer.from('small'));
    await store.put('lines/incoming/c.txt', Buffer.from(second));
    const run = { runId: 'lines-000001', pipeline: 'lines' };
    const packing = packingSchema.parse({ format: 'lines', shuffle: false });
    await planShards({ store, now: () => new Date() }, { ...run, packing });
    const plan = await readPlan(store, run);
    await packItem({ store }, { ...run, packing, item: { item: 0, plan: plan?.digest ?? '' } });
    await sealDataset({ store }, { ...run, packing });
    const manifest = await readSealedManifest(store, 'lines', run.runId);
    expect(manifest && (await verifyGeneration(store, manifest)).problems).toEqual([]);
    const shard = await readText(store, `${bucketKeys.shards('lines', run.runId)}shard-000000.txt`);
    expect(shard === `${first}\nsmall\n${second}`).toBe(true);
  });
});
