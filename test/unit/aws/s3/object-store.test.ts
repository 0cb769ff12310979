/** Small objects of a server in this process. What every ObjectStore does is run on the emulator's S3. */
import { createHash } from 'node:crypto';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { S3Error } from '../../../../functions/aws/s3/errors.ts';
import { openObjectStore } from '../../../../functions/aws/s3/open-store.ts';
import { clientConfiguration } from '../../../support/emulator.ts';
import { type Fault, type MemoryS3, startMemoryS3 } from '../../../support/memory-s3/memory-s3.ts';

/** Less than two of the ranges that a digest reads. */
const LONG = Buffer.alloc(31_500_000, 'tide');
let server: MemoryS3;
let store: ObjectStore;
let decide: (method: string) => Fault | undefined = () => undefined;

beforeAll(async () => {
  server = await startMemoryS3({ faults: { decide: ({ method }) => decide(method) } });
  const { endpoint, region, credentials } = clientConfiguration(server.url);
  store = openObjectStore({
    bucket: 'data',
    endpoint,
    region,
    credentials: () => Promise.resolve(credentials),
    retry: { attempts: 2, baseMilliseconds: 0, maximumMilliseconds: 0 },
  });
});
afterAll(() => server.stop());
beforeEach(() => {
  decide = () => undefined;
  server.clear();
});

it('digests an object that takes several requests', async () => {
  await store.createBytes('model.tar.gz', LONG);
  expect(await store.digestOf('model.tar.gz')).toBe(createHash('sha256').update(LONG).digest('hex'));
});

it('gives no digest of two versions mixed', async () => {
  await store.createBytes('model.tar.gz', LONG);
  let reads = 0;
  decide = (method) => {
    const whole = server.objects.get('model.tar.gz');
    if (method === 'GET' && whole !== undefined) reads += 1;
    if (reads === 2 && whole !== undefined) server.objects.set('model.tar.gz', { ...whole, etag: 'other' });
    return undefined;
  };
  await expect(store.digestOf('model.tar.gz')).rejects.toThrow(TransientError);
});

it('asks once for an object that is too long', async () => {
  await store.writeText('note.json', 'x'.repeat(100));
  let asked = 0;
  decide = () => {
    asked += 1;
    return undefined;
  };
  expect(await store.readText('note.json', 99)).toBeUndefined();
  expect(asked).toBe(1);
});

it('reports a throttle that outlasts its tries', async () => {
  decide = () => 'slowDown';
  await expect(store.readText('note.json')).rejects.toThrow(S3Error);
});
