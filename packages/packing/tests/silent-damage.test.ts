/** Answers that S3 should never give. None of them may become a sealed generation that reads wrong. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  memberLines,
  PIPELINE,
  packAll,
  planAndPack,
  RUN,
  settings,
} from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { misbehaving } from '../../../test/support/fakes/misbehaving-store.ts';
import type { BlobStore, GetOptions, ListPage } from '../documents/blob-store.ts';
import { sealDataset } from '../seal/seal-dataset.ts';
import { spotCheck } from '../verify/verify.ts';

function filled(count: number): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (let index = 0; index < count; index += 1)
    store.seed(`${incoming}a/${index}.txt`, 'x'.repeat(400 + index));
  return store;
}

describe('a body of another length than planned', () => {
  it.each([-1, 1])('is a transient error, %d bytes off', async (off) => {
    const store = filled(4);
    const get = async (key: string, options?: GetOptions) => {
      const found = await store.get(key, options);
      if (found.kind !== 'found' || !key.endsWith('2.txt')) return found;
      const body = Buffer.concat([...found.chunks, Buffer.from('x')]).subarray(0, found.size + off);
      return { ...found, chunks: [body], size: body.length };
    };
    await expect(planAndPack(misbehaving(store, { get }), settings())).rejects.toThrow(TransientError);
  });

  it.each(['webdataset', 'mds'] as const)('is found in %s by the seal', async (format) => {
    const store = filled(4);
    const packing = settings({ format });
    // A store that lies about the length too.
    const get = async (key: string, options?: GetOptions) => {
      const found = await store.get(key, options);
      if (found.kind !== 'found' || !key.endsWith('2.txt')) return found;
      return { ...found, chunks: [Buffer.concat(found.chunks).subarray(0, 100)] };
    };
    await planAndPack(misbehaving(store, { get }), packing);
    const seal = sealDataset({ store }, { runId: RUN, pipeline: PIPELINE, packing });
    await expect(seal).rejects.toThrow(/cannot be sealed: .* (lies at|take)/);
  });

  it('is found in parquet while it is packed', async () => {
    const store = filled(4);
    const get = async (key: string, options?: GetOptions) => {
      const found = await store.get(key, options);
      if (found.kind !== 'found' || !key.endsWith('2.txt')) return found;
      return { ...found, chunks: [Buffer.concat(found.chunks).subarray(0, 100)] };
    };
    const packed = planAndPack(misbehaving(store, { get }), settings({ format: 'parquet' }));
    await expect(packed).rejects.toThrow(/2\.txt" came with 100 bytes, not the 402 of the listing/);
  });
});

describe('an object that is read in ranges', () => {
  const large = (): MemoryBlobStore => {
    const store = filled(3);
    store.seed(`${incoming}a/large.bin`, Buffer.alloc(5_500, 'large'));
    return store;
  };
  const flipping = (store: MemoryBlobStore): BlobStore =>
    misbehaving(store, {
      get: async (key, options) => {
        const found = await store.get(key, options);
        if (found.kind !== 'found' || options?.range?.offset !== 2_000) return found;
        const body = Buffer.concat(found.chunks);
        body.writeUInt8(body.readUInt8(7) ^ 1, 7);
        return { ...found, chunks: [body] };
      },
    });

  it('is compared with the checksum of the whole', async () => {
    const store = large();
    await expect(packAll(flipping(store), settings())).rejects.toThrow(/other bytes than its checksum/);
    expect(await packAll(store, settings())).toMatchObject({ samples: 4 });
    expect(memberLines(store).some(({ unchecked }) => unchecked)).toBe(false);
  });

  it('is marked where the store has no checksum', async () => {
    const store = large();
    store.hasChecksums = false;
    await packAll(flipping(store), settings());
    const marked = memberLines(store).filter(({ unchecked }) => unchecked);
    expect(marked.map(({ name }) => name)).toEqual(['a/large.bin']);
  });
});

describe('a listing', () => {
  const listing = (store: MemoryBlobStore, change: (page: ListPage) => ListPage): BlobStore =>
    misbehaving(store, {
      listPage: async (prefix, options) => {
        const page = await store.listPage(prefix, options);
        return prefix === incoming ? change(page) : page;
      },
    });

  it.each([
    ['repeats a key', ({ objects: [first, ...others] }: ListPage) => [first, first, ...others]],
    ['swaps two keys', ({ objects: [first, second, ...others] }: ListPage) => [second, first, ...others]],
  ] as const)('that %s is read again', async (_, objectsOf) => {
    const store = filled(5);
    const change = (page: ListPage): ListPage => ({
      ...page,
      objects: objectsOf(page).filter((object) => object !== undefined),
    });
    await expect(packAll(listing(store, change), settings())).rejects.toThrow(/not in order; the next try/);
    expect(store.keys(bucketKeys.manifest(PIPELINE, RUN))).toEqual([]);
  });

  it('of another prefix is read again', async () => {
    const store = filled(5);
    const change = (page: ListPage): ListPage => ({
      ...page,
      objects: page.objects.map((object) => ({ ...object, key: `other/${object.key}` })),
    });
    await expect(packAll(listing(store, change), settings())).rejects.toThrow(/listing of .* has "other/);
  });

  it('that answers an earlier request is read again', async () => {
    const store = filled(5);
    store.pageSize = 2;
    const pages: ListPage[] = [];
    const change = (page: ListPage): ListPage => {
      pages.push(page);
      return pages.length > 1 && pages[0] !== undefined ? { ...pages[0], next: undefined } : page;
    };
    await expect(packAll(listing(store, change), settings())).rejects.toThrow(/not in order; the next try/);
  });

  it('goes on after an empty page', async () => {
    const store = filled(5);
    let isFirst = true;
    const change = (page: ListPage): ListPage => {
      if (!isFirst) return page;
      isFirst = false;
      return { objects: [], prefixes: [], next: incoming };
    };
    expect(await packAll(listing(store, change), settings())).toMatchObject({ samples: 5 });
  });
});

it('lists have no line end but their newlines', async () => {
  const store = new MemoryBlobStore();
  for (const end of ['\u0085', '\u2028', '\u2029']) store.seed(`${incoming}a/b${end}c.txt`, 'text');
  await packAll(store, settings());
  const generation = bucketKeys.generation(PIPELINE, RUN);
  const lists = store.keys(generation).filter((key) => key.endsWith('.jsonl.gz'));
  expect(lists).toHaveLength(2);
  for (const list of lists) {
    const lines = gunzipSync(store.body(list)).toString();
    expect(lines).not.toMatch(/[\u0085\u2028\u2029]/);
    expect(
      JSON.stringify(
        lines
          .trim()
          .split('\n')
          .map((line): unknown => JSON.parse(line)),
      ),
    ).toContain('\u2028');
  }
});

describe('a sealed list', () => {
  it.each([
    ['damaged', Buffer.from('damaged')],
    ['another one', gzipSync('["digits/incoming/z.txt","e",1,0]\n')],
  ])('stops the next plan if it is %s', async (_, body) => {
    const store = filled(4);
    await packAll(store, settings());
    store.seed(`${incoming}a/10.txt`, 'new');
    const [list = ''] = store
      .keys(bucketKeys.generation(PIPELINE, RUN))
      .filter((key) => key.includes('/arrivals/'));
    store.seed(list, body);
    const next = packAll(store, settings(), 'digits-000002');
    await expect(next).rejects.toThrow(/is not the sealed list: restore it .* data repair/);
  });
});

describe('a shard that the store damages', () => {
  it.each(['webdataset', 'tfrecord', 'mds', 'parquet'] as const)(
    'is found in %s before the seal',
    async (format) => {
      const store = filled(4);
      const packing = settings({ format });
      await planAndPack(store, packing);
      const shards = bucketKeys.shards(PIPELINE, RUN);
      const get = async (key: string, options?: GetOptions) => {
        const found = await store.get(key, options);
        if (found.kind !== 'found' || !key.startsWith(shards)) return found;
        const body = Buffer.concat(found.chunks);
        body[body.length >>> 1] = (body[body.length >>> 1] ?? 0) ^ 1;
        return { ...found, chunks: [body] };
      };
      const seal = sealDataset(
        { store: misbehaving(store, { get }), spotCheck },
        { runId: RUN, pipeline: PIPELINE, packing },
      );
      await expect(seal).rejects.toThrow(/cannot be sealed: a shard was read back, and shard-000000/);
      expect(store.objects.has(bucketKeys.manifest(PIPELINE, RUN))).toBe(false);
    },
  );

  it('is sealed when it is whole', async () => {
    const store = filled(4);
    await planAndPack(store, settings());
    const run = { runId: RUN, pipeline: PIPELINE, packing: settings() };
    expect(await sealDataset({ store, spotCheck }, run)).toMatchObject({ status: 'sealed', samples: 4 });
  });
});
