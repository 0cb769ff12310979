/** The data path against two independent S3 servers. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { readPlan, readSealedManifest } from '@tidewheel/packing/dataset.ts';
import { verifyGeneration } from '@tidewheel/packing/maintain.ts';
import { packItem } from '@tidewheel/packing/pack.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { readText } from '@tidewheel/packing/store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenStore } from '../../../functions/aws/s3/open-store.ts';
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
