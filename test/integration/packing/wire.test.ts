/** The data path against two S3 servers that are not ours. */
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe } from 'vitest';
import { type OpenStore, openBlobStore } from '../../../functions/aws/s3/open-store.ts';
import { describesBlobStore } from '../../unit/packing/blob-store-contract.ts';
import { clientConfiguration, startTestEmulator } from '../emulator.ts';
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
    const client = new S3Client({ ...clientConfiguration(server.url), forcePathStyle: true });
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    client.destroy();
    const { endpoint, region, credentials } = clientConfiguration(server.url);
    opened = await openBlobStore({
      bucket: BUCKET,
      endpoint,
      region,
      credentials: () => Promise.resolve(credentials),
    });
  }, 300_000);

  afterAll(async () => {
    await opened[Symbol.asyncDispose]();
    await server.stop();
  });

  describesBlobStore({ open: () => opened.store, knowsGoneUploads: name !== 'moto' });
});
