/** The real client packs large members against a server that has S3's rules for parts, copies and checksums. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { corpusBody, regularCorpus } from '../../../bench/packing/listing.ts';
import { type Fault, startMemoryS3 } from '../../../bench/packing/memory-s3.ts';
import { openBlobStore } from '../../../functions/aws/s3/open-store.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { PIPELINE, packPipeline, RUN, readTar, settings } from '../../support/builders/packing.ts';

const MEBIBYTE = 1024 * 1024;
const SIZES = [17 * MEBIBYTE + 13, 3_000_000, 33 * MEBIBYTE];
const corpus = regularCorpus({
  prefix: bucketKeys.incoming(PIPELINE),
  count: SIZES.length,
  size: (index) => SIZES[index] ?? 0,
  suffix: 'mp4',
});
const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Packs and seals all files; copies are answered with the faults, in turn. */
async function packed(faults: readonly (Fault | undefined)[]) {
  const left = [...faults];
  const isCopy = (path: string): boolean => path.includes('partNumber=2&');
  const server = await startMemoryS3({
    corpus,
    checksum: 'crc64nvme',
    faults: { decide: ({ path }) => (isCopy(path) ? left.shift() : undefined) },
  });
  try {
    await using opened = await openBlobStore({
      bucket: 'bucket',
      region: 'us-east-1',
      endpoint: server.url,
      credentials: () => Promise.resolve({ accessKeyId: 'a', secretAccessKey: 'b' }),
    });
    const packing = settings({ label: 'none', shuffle: false });
    const sealed = await packPipeline(opened.store, { runId: RUN, pipeline: PIPELINE, packing });
    const shards = [...server.objects].filter(([key]) => key.endsWith('.tar'));
    const members = await Promise.all(shards.map(([, { body }]) => readTar(body)));
    const digests = members.flat().map(({ body }) => digestOf(body));
    return { sealed, digests, left, bytesRead: server.bytesOut };
  } finally {
    await server.stop();
  }
}

describe('large members of a tar', () => {
  it('pass through with at most 6 MiB', async () => {
    const { sealed, digests, bytesRead } = await packed([]);
    expect(sealed).toMatchObject({ samples: SIZES.length });
    expect(digests.sort()).toEqual(SIZES.map((size, index) => digestOf(corpusBody(index, size))).sort());
    expect(bytesRead).toBeLessThan(2 * 6 * MEBIBYTE + 3_500_000);
  });

  it('are copied again after errors with 200', async () => {
    const { digests, left } = await packed(['errorWith200', 'slowDown', 'reset']);
    expect(left).toEqual([]);
    expect(digests.sort()).toEqual(SIZES.map((size, index) => digestOf(corpusBody(index, size))).sort());
  });
});
