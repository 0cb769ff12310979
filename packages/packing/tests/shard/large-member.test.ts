/** The store copies large members into a tar. The shard equals one whose members were read. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  memberLines,
  PIPELINE,
  planAndPack,
  RUN,
  SMALL,
  settings,
} from '../../../../test/support/builders/packing.ts';
import { persist } from '../../../../test/support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { kindsIn, SUM_KINDS } from '../../documents/blob-store.ts';
import { readSealedManifest } from '../../documents/sealed-arrivals.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';
import { verifyGeneration } from '../../verify/verify.ts';

const tar = settings({ shuffle: false, label: 'none' });
const from = (largeMemberBytes: number, least = 500, partBytes = 2_000) => ({
  ...SMALL,
  upload: { ...SMALL.upload, largeMemberBytes, partBytes, copiedBytes: { least, most: 1_500 } },
});
const bodyOf = (size: number, salt = 0): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, index) => (index * 7 + (index >> 8) + salt) & 255));

function storeOf(sources: Readonly<Record<string, number>>, kept: MemoryBlobStore['keptSum'] = 'crc32') {
  const store = new MemoryBlobStore();
  store.keptSum = kept;
  for (const [key, size] of Object.entries(sources))
    store.seed(`${incoming}${key}`, bodyOf(size, key.length));
  return store;
}

/** Of each copied member, this many bytes are sent if few lie in the part before. */
const LEAST = 1_200;
/** Bytes of a part into which the first bytes of a member can be read. */
const ROOMY = 300_000;

async function seal(
  store: Parameters<typeof planAndPack>[0],
  packing: PackingSettings = tar,
  limits = from(3_000),
) {
  await planAndPack(store, packing, RUN, limits);
  return sealDataset({ store }, { runId: RUN, pipeline: PIPELINE, packing });
}

async function problemsOf(store: MemoryBlobStore): Promise<readonly string[]> {
  const manifest = await readSealedManifest(store, PIPELINE, RUN);
  return manifest === undefined ? ['nothing sealed'] : (await verifyGeneration(store, manifest)).problems;
}

const shardsOf = (store: MemoryBlobStore): Buffer[] =>
  store.keys(bucketKeys.shards(PIPELINE, RUN)).map((key) => store.body(key));

describe('a large member of a tar', () => {
  it('gives the same shard copied or read', async () => {
    const size = fc.oneof(
      fc.nat(700),
      fc.integer({ min: 900, max: 2_900 }),
      fc.integer({ min: 3_000, max: 9_000 }),
    );
    const samples = fc.array(fc.tuple(size, fc.option(fc.nat(900), { nil: undefined })), {
      minLength: 1,
      maxLength: 5,
    });
    const parts = fc.constantFrom([500, 2_000] as const, [LEAST, 2_000] as const, [LEAST, ROOMY] as const);
    const kinds = fc.constantFrom(...SUM_KINDS, 'none' as const);
    await fc.assert(
      fc.asyncProperty(samples, kinds, parts, async (sizes, kept, part) => {
        const sources = Object.fromEntries(
          sizes.flatMap(([bytes, text], index): [string, number][] => [
            [`${index}.mp4`, bytes],
            ...(text === undefined ? [] : [[`${index}.json`, text] satisfies [string, number]]),
          ]),
        );
        const [copied, read] = [storeOf(sources, kept), storeOf(sources, kept)];
        await seal(copied, tar, from(3_000, ...part));
        await seal(read, tar, from(Number.POSITIVE_INFINITY));
        expect(shardsOf(copied)).toEqual(shardsOf(read));
        expect(await problemsOf(copied)).toEqual([]);
        expect([copied.copiedBytes > 0, read.copiedBytes]).toEqual([
          kept !== 'none' && sizes.some(([bytes]) => bytes >= 3_000),
          0,
        ]);
      }),
      { numRuns: 20 },
    );
  });

  it('passes through with its first bytes only', async () => {
    const size = 700_000;
    const store = storeOf({ 'a.mp4': size, 'b.mp4': size });
    const lengths: number[] = [];
    const get = store.get.bind(store);
    store.get = (key, options) => {
      if (key.startsWith(incoming)) lengths.push(options?.range?.length ?? size);
      return get(key, options);
    };
    await seal(store);
    expect(lengths).toEqual([262_144, 262_144]);
    expect(store.copiedBytes).toBeGreaterThan(2 * (size - 500));
  });

  it('is looked up once, its shard never', async () => {
    const store = storeOf({ 'a.mp4': 5_000, 'b.mp4': 6_000 });
    const asked: string[] = [];
    const [wholeCheck, head] = [store.wholeCheck.bind(store), store.head.bind(store)];
    store.wholeCheck = (key, etag) => {
      asked.push(key.slice(incoming.length));
      return wholeCheck(key, etag);
    };
    store.head = (key) => {
      asked.push(key);
      return head(key);
    };
    await planAndPack(store, tar, RUN, from(3_000));
    expect(asked.toSorted()).toEqual(['a.mp4', 'b.mp4']);
  });

  it('is listed with the checksums of the store', async () => {
    const listed = async (kept: MemoryBlobStore['keptSum']) => {
      const store = storeOf({ 'a.mp4': 5_000 }, kept);
      await seal(store);
      const [line] = memberLines(store);
      return { ...line, kinds: kindsIn(line ?? {}) };
    };
    for (const kind of SUM_KINDS) {
      const line = await listed(kind);
      expect(line).toMatchObject({ sha256: '', kinds: [kind] });
      expect(line.unchecked).toBeUndefined();
    }
  });

  it('is read if only its MD5 is known', async () => {
    const store = storeOf({ 'a.mp4': 5_000, 'b.txt': 4_000 }, 'none');
    await seal(store);
    expect(store.copiedBytes).toBe(0);
    const sums = { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
    const [video, text] = memberLines(store);
    expect([video, text]).toMatchObject([sums, { ...sums, media: { lines: expect.any(Number) } }]);
    expect([video, text].flatMap((line) => [...kindsIn(line ?? {}), line?.unchecked])).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('is copied unchecked if nothing is known', async () => {
    const store = storeOf({ 'a.mp4': 5_000 }, 'none');
    store.hasChecksums = false;
    await seal(store);
    expect(store.copiedBytes).toBeGreaterThan(3_000);
    expect(memberLines(store)).toMatchObject([{ sha256: '', crc32: expect.any(String), unchecked: true }]);
  });

  it('is read if its sum has another kind', async () => {
    const store = storeOf({ 'a.mp4': 5_000, 'b.mp4': 5_000, 'c.mp4': 6_000 }, 'none');
    const wholeCheck = store.wholeCheck.bind(store);
    const kinds = new Map([['b.mp4', 'crc32c'] as const, ['c.mp4', 'crc64nvme'] as const]);
    store.wholeCheck = async (key, etag) => {
      store.keptSum = [...kinds].find(([name]) => key.endsWith(name))?.[1] ?? 'none';
      return wholeCheck(key, etag);
    };
    await seal(store);
    // The first one with a sum gives the kind.
    expect(memberLines(store).map((line) => kindsIn(line))).toEqual([[], ['crc32c'], []]);
    expect(memberLines(store).map(({ sha256 }) => sha256.length)).toEqual([64, 0, 64]);
    expect(await problemsOf(store)).toEqual([]);
  });

  it.each([...SUM_KINDS, 'none'] as const)('is verified byte by byte (%s)', async (kept) => {
    const store = storeOf({ 'a.mp4': 5_000, 'b.mp4': 4_000 }, kept);
    await seal(store);
    const [shard = ''] = store.keys(bucketKeys.shards(PIPELINE, RUN));
    const body = store.body(shard);
    body.writeUInt8(body.readUInt8(3_000) ^ 1, 3_000);
    store.objects.set(shard, { body, etag: store.objects.get(shard)?.etag ?? '' });
    expect((await problemsOf(store)).join()).toMatch(/holds other bytes for "a\.mp4"/);
  });

  it.each([
    ['none', {}],
    ['crc32', { crc32: '00000000' }],
    ['crc32c', { crc32c: '00000000' }],
    ['crc64nvme', { crc64nvme: 'AAAAAAAAAAA=' }],
  ] as const)('fails if its bytes differ from the source (%s)', async (kept, sums) => {
    const store = storeOf({ 'a.mp4': 5_000 }, kept);
    const wholeCheck = store.wholeCheck.bind(store);
    store.wholeCheck = async (key, etag) => {
      const check = await wholeCheck(key, etag);
      return check && { ...check, sums, isIntact: () => false };
    };
    await expect(seal(store)).rejects.toThrow(TransientError);
  });

  it.each(SUM_KINDS)('fails if its first bytes differ (%s)', async (kept) => {
    const store = storeOf({ 'a.mp4': 5_000 }, kept);
    const get = store.get.bind(store);
    store.get = async (key, options) => {
      const found = await get(key, options);
      if (!key.endsWith('mp4') || found.kind !== 'found') return found;
      return { ...found, chunks: [bodyOf(found.size, 1)] };
    };
    await expect(seal(store, tar, from(3_000, LEAST))).rejects.toThrow('other bytes');
    await expect(seal(store, tar, from(3_000, LEAST, ROOMY))).rejects.toThrow('BadDigest');
  });

  it('is read if the copy has no checksum', async () => {
    const sources = { 'a.mp4': 5_000, 'a.json': 100, 'b.mp4': 4_000 };
    const [copied, read] = [storeOf(sources), storeOf(sources)];
    read.checksCopies = false;
    await seal(copied);
    await seal(read);
    expect(read.copiedBytes).toBe(0);
    expect(shardsOf(read)).toEqual(shardsOf(copied));
    expect(memberLines(read)).toEqual(memberLines(copied));
  });

  it('is deferred if it changes while it is copied', async () => {
    const sources = { 'a.mp4': 4_000, 'b.json': 50, 'b.mp4': 9_000, 'c.mp4': 3_500 };
    const store = storeOf(sources);
    const copyPart = store.copyPart.bind(store);
    store.copyPart = (upload, part, source) => {
      if (source.key.endsWith('b.mp4') && source.offset > 2_000) store.seed(source.key, bodyOf(7_000));
      return copyPart(upload, part, source);
    };
    await seal(store);
    const manifest = await readSealedManifest(store, PIPELINE, RUN);
    expect(manifest?.arrivals).toMatchObject({ packed: 2, deferred: 2 });
    expect(await problemsOf(store)).toEqual([]);
    const calm = storeOf({ 'a.mp4': 4_000, 'c.mp4': 3_500 });
    await seal(calm);
    expect(shardsOf(store)).toEqual(shardsOf(calm));
  });

  it('must be the image that its name says', async () => {
    const store = storeOf({ 'a.jpg': 4_000, 'b.png': 5_000 });
    store.seed(`${incoming}b.png`, Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), bodyOf(5_000)]));
    await seal(store, settings({ shuffle: false, label: 'none', accept: ['jpg', 'png'] }));
    const manifest = await readSealedManifest(store, PIPELINE, RUN);
    expect(manifest?.rejections.byReason).toEqual({ notTheImageItsNameSays: 1 });
    expect(memberLines(store)).toMatchObject([{ name: 'b.png', sha256: '' }]);
  });

  it('is sealed the same wherever a worker is killed', async () => {
    const sources = { 'a.mp4': 4_000, 'a.json': 80, 'b.mp4': 5_500, 'c.mp4': 3_100 };
    const calm = storeOf(sources);
    await seal(calm);
    for (let seed = 0; seed < 10; seed += 1) {
      const store = storeOf(sources);
      await persist(store, `large ${seed}`, (faulty) => seal(faulty));
      expect(shardsOf(store)).toEqual(shardsOf(calm));
      expect(memberLines(store)).toEqual(memberLines(calm));
    }
  });
});
