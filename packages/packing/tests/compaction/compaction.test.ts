/** In every format, a compaction joins small generations into a large one with the same content. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import {
  type Arrivals,
  accounts,
  compactAll,
  contents,
  current,
  incoming,
  linesIn,
  packedInDrops,
  problems,
  runOf,
} from '../../../../test/support/builders/compaction.ts';
import {
  PIPELINE,
  packAll,
  planAndPack,
  readTar,
  SMALL,
  settings,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';

const frame = (text: string): Buffer => {
  const body = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt32LE(0xced7230a);
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body, Buffer.alloc((4 - (body.length % 4)) % 4)]);
};

const images = (drop: number): Arrivals =>
  Object.fromEntries(
    Array.from({ length: 7 }, (_, index) => [
      `${index % 2}/${drop}-${index}.jpg`,
      Buffer.alloc(index * 150, drop * 16 + index),
    ]),
  );
const tables = (drop: number): Arrivals => ({
  [`${drop}.csv`]: `id,name\n${drop},one\n`,
  [`${drop}-more.csv`]: `id,name\n${drop},two`,
});
const recorded = (drop: number): Arrivals => ({ [`${drop}.rec`]: frame(`drop ${drop}`) });

const FORMATS: readonly (readonly [string, Partial<PackingSettings>, (drop: number) => Arrivals])[] = [
  ['webdataset', { format: 'webdataset' }, images],
  ['tfrecord', { format: 'tfrecord' }, images],
  ['tfrecord of whole labels', { format: 'tfrecord', labelType: 'integer' }, images],
  ['tfrecord in gzip', { format: 'tfrecord', tfrecord: { compression: 'gzip' } }, images],
  ['recordio', { format: 'recordio' }, images],
  ['mds', { format: 'mds', labelType: 'integer' }, images],
  ['parquet', { format: 'parquet', labelType: 'integer' }, images],
  ['lines', { format: 'lines' }, tables],
  ['csv under one header', { format: 'lines', lines: { kind: 'csv', header: 'perShard' } }, tables],
  ['records', { format: 'records', records: { kind: 'recordio' } }, recorded],
];
const DROPS = [1, 2, 3, 4];

describe.each(FORMATS)('compacting %s', (_name, changes, drop) => {
  const packing = settings({ shardMegabytes: 0.06, ...changes });

  it('holds the same arrivals in fewer, larger shards', async () => {
    const store = await packedInDrops(DROPS.map(drop), packing);
    expect(await problems(store)).toEqual([]);
    const [before, said] = [await contents(store), await accounts(store)];
    const old = DROPS.flatMap((batch) => store.keys(bucketKeys.generation(PIPELINE, runOf(batch))));
    const bodies = old.map((key) => store.body(key).toString('base64'));
    const samples = (await current(store)).reduce((sum, one) => sum + one.samples, 0);
    const result = await compactAll(store, packing);
    expect(result).toMatchObject({ status: 'compacted', of: DROPS.map(runOf), samples });
    expect(await current(store)).toHaveLength(1);
    expect(await problems(store)).toEqual([]);
    expect(await contents(store)).toEqual(before);
    expect(await accounts(store)).toEqual(said);
    // Their readers go on.
    expect(old.map((key) => store.body(key).toString('base64'))).toEqual(bodies);
  });

  it('can be compacted with later generations', async () => {
    const store = await packedInDrops(DROPS.map(drop), packing);
    await compactAll(store, packing);
    await packedInDrops([drop(5), drop(6)], packing, store, 5);
    const before = await contents(store);
    const result = await compactAll(store, packing);
    expect(result).toMatchObject({ status: 'compacted' });
    expect(await problems(store)).toEqual([]);
    expect(await contents(store)).toEqual(before);
    expect(await packAll(store, packing, runOf(9))).toMatchObject({ shards: 0, rejected: 0 });
  });
});

const forty = (drop: number): Arrivals =>
  Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${drop}/${index}.jpg`, `${drop} ${index}`]));
const tiny = (drop: number): Arrivals => ({ [`${drop}.jpg`]: 'tiny' });

describe('a compacted generation', () => {
  const packing = settings({ shardMegabytes: 0.06 });

  it('keeps equal names and versions of a key apart', async () => {
    const drops: Arrivals[] = [
      { 'a.jpg': 'first', '0/b.jpg': 'b', '': '' },
      { 'a.jpg': 'second', 'a.JPG': 'other' },
      { 'a.json': '{}', '0/b.cls': 'label' },
      { 'a.jpg': 'third', '../x/../a.jpg': 'escaped', 'a .jpg': 'blank', 'zero.jpg': '' },
    ];
    const store = await packedInDrops(drops, packing);
    const before = await contents(store);
    await compactAll(store, packing);
    expect(await contents(store)).toEqual(before);
    expect(await problems(store)).toEqual([]);
    const [manifest] = await current(store);
    if (manifest === undefined) throw new Error('nothing was compacted');
    for (const shard of store.keys(bucketKeys.shards(PIPELINE, manifest.generation))) {
      const names = (await readTar(store.body(shard))).map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      const stems = names.map((name) => name.slice(0, name.indexOf('.', name.lastIndexOf('/') + 1)));
      const runs = stems.filter((stem, index) => stem !== stems[index - 1]);
      expect(new Set(runs).size).toBe(runs.length);
    }
  });

  it('mixes all inputs in a reproducible order', async () => {
    const seals = await Promise.all(
      [1, 2].map(async () => {
        const store = await packedInDrops(DROPS.map(forty), settings());
        await compactAll(store, settings());
        const [manifest] = await current(store);
        if (manifest === undefined) throw new Error('nothing was compacted');
        return { manifest, lines: linesIn(store, manifest), store };
      }),
    );
    const [a, b] = seals;
    expect(a?.manifest).toEqual(b?.manifest);
    expect(a?.lines).toEqual(b?.lines);
    const folders = (a?.lines ?? []).flatMap(({ key }) => (key === undefined ? [] : [key.split('/')[2]]));
    const changes = folders.filter((folder, index) => folder !== folders[index - 1]).length;
    expect(changes).toBeGreaterThan(80);
  });

  it('keeps the generation order without a shuffle', async () => {
    const plain = settings({ shuffle: false });
    const store = await packedInDrops(DROPS.map(images), plain);
    await compactAll(store, plain);
    const [manifest] = await current(store);
    const keys = manifest === undefined ? [] : linesIn(store, manifest).flatMap(({ key }) => key ?? []);
    const drops = keys.map((key) => key.split('/')[3]?.split('-')[0]);
    expect(drops).toEqual(drops.toSorted((a = '', b = '') => (a < b ? -1 : Number(a > b))));
  });

  it('keeps equal counts equal', async () => {
    const even = settings({ shardMegabytes: 0.06, shardsMultipleOf: 2, remainder: 'even' });
    const store = await packedInDrops(DROPS.map(images), even);
    const result = await compactAll(store, even);
    expect(result).toMatchObject({ status: 'compacted' });
    const [manifest] = await current(store);
    expect(new Set(manifest?.shards.map(({ samples }) => samples)).size).toBe(1);
    expect((manifest?.shards.length ?? 1) % 2).toBe(0);
    expect(manifest?.repeated).toBe(4);
    expect(await problems(store)).toEqual([]);
  });

  it.each([
    ['webdataset', {}],
    ['tfrecord', {}],
    ['tfrecord', { tfrecord: { compression: 'gzip' } }],
    ['mds', {}],
    ['parquet', {}],
  ] as const)('copies large samples of %s %j like small ones', async (format, more) => {
    const even = settings({ ...more, format, shardMegabytes: 0.001, shardsMultipleOf: 2, remainder: 'even' });
    const [held, read] = await Promise.all(
      [1e9, 0].map(async (mostHeldBytes) => {
        const store = await packedInDrops([images(1), images(2)], even);
        const retracted = new Set(['0/1-4.jpg', '1/2-3.jpg', '0/2-0.jpg'].map((key) => incoming + key));
        const input = { pipeline: PIPELINE, packing: even, after: 'never', retracted } as const;
        await compact(store, input, { ...SMALL, readBytes: 1_000, mostHeldBytes });
        expect(await problems(store)).toEqual([]);
        const [manifest] = await current(store);
        const copies = manifest === undefined ? [] : linesIn(store, manifest).filter(({ repeat }) => repeat);
        expect(copies.length).toBeGreaterThan(0);
        return manifest?.shards;
      }),
    );
    expect(read).toEqual(held);
  });

  it('includes generations that only rejected arrivals', async () => {
    const picky = settings({ accept: ['.bin'], shardMegabytes: 0.06 });
    const store = await packedInDrops([{ 'a.bin': 'a' }, { 'notes.txt': 'no' }, { 'c.bin': 'c' }], picky);
    const said = await accounts(store);
    const result = await compactAll(store, picky);
    expect(result).toMatchObject({ status: 'compacted', of: [runOf(1), runOf(3), runOf(2)] });
    expect(await accounts(store)).toEqual(said);
    const [manifest] = await current(store);
    expect(manifest?.rejections.byReason).toEqual({ suffixNotAccepted: 1 });
    expect(await problems(store)).toEqual([]);
    expect(await packAll(store, picky, runOf(9))).toMatchObject({ shards: 0, rejected: 0 });
  });

  it('refuses an input shard that was changed', async () => {
    const store = await packedInDrops(DROPS.map(images), packing);
    const [shard = ''] = store.keys(bucketKeys.shards(PIPELINE, runOf(2)));
    const held = store.objects.get(shard);
    const body = Buffer.from(store.body(shard));
    body.writeUInt8(body.readUInt8(700) ^ 1, 700);
    store.objects.set(shard, { body, etag: held?.etag ?? '' });
    await expect(compactAll(store, packing)).rejects.toThrow(/has CRC-32 .* The dataset stays as it is/);
    expect(await current(store)).toHaveLength(4);
    store.seed(shard, 'replaced');
    await expect(compactAll(store, packing)).rejects.toThrow(/not the object that was sealed/);
    store.objects.delete(shard);
    await expect(compactAll(store, packing)).rejects.toThrow(/is missing/);
    expect(await current(store)).toHaveLength(4);
  });
});

describe('whether to compact', () => {
  const packing = settings({ shardMegabytes: 0.06 });
  const ask = (after: number) => ({ pipeline: PIPELINE, packing, after });

  it('waits for the declared number of small generations', async () => {
    const store = await packedInDrops(DROPS.map(images), packing);
    expect(await compact(store, ask(5))).toEqual({ status: 'nothingToCompact' });
    expect(await compact(store, ask(4))).toMatchObject({ status: 'compacted' });
    expect(await compact(store, ask(2))).toEqual({ status: 'nothingToCompact' });
  });

  it('skips large generations and other formats', async () => {
    const large = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`l/${n}.jpg`, Buffer.alloc(3_000, n)]),
    );
    const other = { runId: runOf(4), pipeline: PIPELINE, packing: settings({ format: 'recordio' }) };
    const store = new MemoryBlobStore();
    store.seed(`${incoming}late.jpg`, 'late');
    await planAndPack(store, other.packing, other.runId);
    store.objects.delete(`${incoming}late.jpg`);
    await packedInDrops([images(1), large, images(3)], packing, store);
    await sealDataset({ store }, other);
    expect(await compact(store, ask(2))).toMatchObject({ status: 'compacted', of: [runOf(1), runOf(3)] });
    expect((await current(store)).map(({ generation }) => generation)).toContain(runOf(2));
    expect(await problems(store)).toEqual([]);
  });

  it('skips one larger than the rest combined', async () => {
    const bulk = Object.fromEntries(
      Array.from({ length: 6 }, (_, n) => [`l/${n}.jpg`, Buffer.alloc(1_000, n)]),
    );
    const store = await packedInDrops([bulk, tiny(2), tiny(3)], packing);
    expect(await compact(store, ask(2))).toMatchObject({ status: 'compacted', of: [runOf(2), runOf(3)] });
  });
});
