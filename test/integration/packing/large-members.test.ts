/** The real client packs large members against a server that has S3's rules for parts, copies and checksums. */

import { createHash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { manifestsOf, memberLines, packingKeys } from '@tidewheel/packing/dataset.ts';
import { describe, expect, it } from 'vitest';
import { openBlobStore } from '../../../functions/aws/s3/open-store.ts';
import { PIPELINE, packPipeline, RUN, readTar, settings } from '../../support/builders/packing.ts';
import type { StoredChecksum } from '../../support/memory-s3/checksum-headers.ts';
import { corpusBody, regularCorpus } from '../../support/memory-s3/listing.ts';
import { type Fault, startMemoryS3 } from '../../support/memory-s3/memory-s3.ts';

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
async function packed(faults: readonly (Fault | undefined)[], checksum: StoredChecksum = 'crc64nvme') {
  const left = [...faults];
  let partLists = 0;
  const isCopy = (path: string): boolean => path.includes('partNumber=2&');
  const server = await startMemoryS3({
    corpus,
    checksum,
    faults: {
      decide: ({ path }) => {
        partLists += Number(path.endsWith('?attributes='));
        return isCopy(path) ? left.shift() : undefined;
      },
    },
  });
  try {
    await using opened = await openBlobStore({
      bucket: 'bucket',
      region: 'us-east-1',
      endpoint: server.url,
      credentials: () => Promise.resolve({ accessKeyId: 'a', secretAccessKey: 'b' }),
      retry: { attempts: 10, baseMilliseconds: 2, maximumMilliseconds: 200 },
    });
    const packing = settings({ label: 'none', shuffle: false });
    await packPipeline(opened.store, { runId: RUN, pipeline: PIPELINE, packing });
    const shards = [...server.objects].filter(([key]) => key.endsWith('.tar'));
    const members = await Promise.all(shards.map(([, { body }]) => readTar(body)));
    const digests = members.flat().map(({ body }) => digestOf(body));
    const [manifest] = await manifestsOf(opened.store, PIPELINE, [RUN]);
    const lists = (manifest?.shards ?? []).map((shard) =>
      memberLines(opened.store, packingKeys(PIPELINE, RUN), shard),
    );
    const lines = (await Promise.all(lists)).flat();
    return { digests, lines, left, partLists };
  } finally {
    await server.stop();
  }
}

describe('large members of a tar', () => {
  it('are compared with the checksums of their parts', async () => {
    const { lines, digests, partLists } = await packed([], 'composite');
    expect(digests.sort()).toEqual(SIZES.map((size, index) => digestOf(corpusBody(index, size))).sort());
    const large = lines.filter(({ size }) => size > 16 * MEBIBYTE);
    expect(large).toHaveLength(2);
    for (const { crc32, unchecked } of large) {
      expect(crc32).toMatch(/^[0-9a-f]{8}$/);
      expect(unchecked).toBeUndefined();
    }
    // A page names two of three or five parts.
    expect(partLists).toBe(2 + 3);
  });

  it.each(['crc32', 'crc32c', 'crc64nvme', 'composite', 'compositeCrc32c'] as const)(
    'are not sealed with other bytes (%s)',
    async (checksum) => {
      await expect(packed(['wrongCopy'], checksum)).rejects.toThrow(/other bytes|BadDigest/);
    },
  );

  it('are copied again after errors with 200', async () => {
    const { digests, left } = await packed(['errorWith200', 'slowDown', 'reset']);
    expect(left).toEqual([]);
    expect(digests.sort()).toEqual(SIZES.map((size, index) => digestOf(corpusBody(index, size))).sort());
  });
});
