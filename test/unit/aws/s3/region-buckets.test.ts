/** Copies above 5 GB, part by part, by a script of S3's answers. */
import { TransientError } from '@tidewheel/kit/errors.ts';
import { expect, it } from 'vitest';
import { S3BlobStore } from '../../../../functions/aws/s3/blob-store.ts';
import { makeRegion } from '../../../../functions/aws/s3/region-buckets.ts';
import { Requester } from '../../../../functions/aws/s3/requester.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';

const OPENED = '<R><UploadId>upload-1</UploadId></R>';
const COPIED = '<R><ETag>"e"</ETag><ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME></R>';
const COMPLETE = '<R><ETag>"e"</ETag></R>';
const GONE = '<Error><Code>NoSuchUpload</Code></Error>';
const FORBIDDEN = '<Error><Code>AccessDenied</Code></Error>';
const object = { key: 'model.tar.gz', size: 5_000_000_001, etag: 'e' };

/** Copies to a store that answers in turn. `requests` are methods, and parts by their numbers. */
async function copyTo(answers: readonly (readonly [status: number, body: string])[]) {
  const requests: string[] = [];
  const script = [...answers];
  const there = new S3BlobStore(
    'data-us-west-2',
    new Requester({
      address: { origin: 'https://h', host: 'h', basePath: '' },
      region: 'us-west-2',
      credentials: () => Promise.resolve({ accessKeyId: 'a', secretAccessKey: 's' }),
      transport: {
        dispatch: ({ method, path }, receiver) => {
          requests.push(`${method} ${/partNumber=(\d+)/.exec(path)?.[1] ?? ''}`.trim());
          const [status, body] = script.shift() ?? [204, ''];
          const chunks = [Buffer.from(body)];
          receiver.answered({ status, headers: {}, chunks, size: Buffer.byteLength(body) });
        },
        close: () => Promise.resolve(),
      },
      world: { now: () => Date.UTC(2026, 10, 30), random: () => 0, sleep: () => Promise.resolve() },
    }),
  );
  const open = () => Promise.resolve(there);
  const paths = { dataBucket: 'data', bucket: there.bucket, there: open };
  const region = makeRegion('us-west-2', { ...paths, copiesHome: open, copiesThere: open });
  const failure = await region
    .copy(object, memoryObjectStore(fakeClock(), 'data'), region.store)
    .catch((error: unknown) => error);
  return { failure, requests };
}

const PARTS = Array.from({ length: 6 }, () => [200, COPIED] as const);
const COPIES = ['POST', 'PUT 1', 'PUT 2', 'PUT 3', 'PUT 4', 'PUT 5', 'PUT 6', 'POST'];

it('a large object is copied in six parts', async () => {
  expect(await copyTo([[200, OPENED], ...PARTS, [200, COMPLETE]])).toEqual({
    failure: undefined,
    requests: COPIES,
  });
});

it('a copy whose upload is gone is no copy', async () => {
  const { failure, requests } = await copyTo([[200, OPENED], ...PARTS, [404, GONE]]);
  expect(failure).toBeInstanceOf(TransientError);
  expect(requests.slice(0, COPIES.length)).toEqual(COPIES);
});

it('an upload is given up with its refused part', async () => {
  const { failure, requests } = await copyTo([
    [200, OPENED],
    [403, FORBIDDEN],
  ]);
  expect(failure).toMatchObject({
    code: 'AccessDenied',
    message: expect.stringContaining('UploadPartCopy of "model.tar.gz" at h failed: AccessDenied'),
  });
  expect(requests).toEqual(['POST', 'PUT 1', 'DELETE']);
});
