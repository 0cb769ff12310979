/** The store copies large sources of lines. The shard equals one whose sources were read. */

import { hash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  memberLines,
  PIPELINE,
  packAll,
  RUN,
  settings,
} from '../../../test/support/builders/packing.ts';
import { persist } from '../../../test/support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { verifyGeneration } from '../verify/verify.ts';

const text = (length: number, end = '\n'): string =>
  `${'abcdefghij\n'.repeat(1_000).slice(0, length - end.length)}${end}`;
const csv = settings({ format: 'lines', lines: { kind: 'csv', header: 'perShard' }, shuffle: false });
const plain = settings({ format: 'lines', shuffle: false });

interface Packed {
  readonly store: MemoryBlobStore;
  readonly shards: readonly string[];
  readonly problems: readonly string[];
}

interface PackOptions {
  readonly checksCopies?: boolean;
  readonly kept?: MemoryBlobStore['keptSum'];
}

async function packed(
  sources: Readonly<Record<string, string>>,
  packing: PackingSettings,
  { checksCopies = true, kept = 'crc32' }: PackOptions = {},
): Promise<Packed> {
  const store = new MemoryBlobStore();
  store.keptSum = kept;
  store.checksCopies = checksCopies;
  for (const [key, body] of Object.entries(sources)) store.seed(`${incoming}${key}`, body);
  await packAll(store, packing);
  const manifest = await readSealedManifest(store, PIPELINE, RUN);
  const problems =
    manifest === undefined ? ['nothing sealed'] : (await verifyGeneration(store, manifest)).problems;
  const shards = store.keys(bucketKeys.shards(PIPELINE, RUN)).map((key) => store.body(key).toString());
  return { store, shards, problems };
}

describe('a large source of lines', () => {
  it('is copied and ends with a newline', async () => {
    const sources = { 'a.txt': text(4_000, ''), 'b.txt': 'small', 'c.txt': text(3_000) };
    const { store, shards, problems } = await packed(sources, plain);
    expect(shards).toEqual([`${sources['a.txt']}\nsmall\n${sources['c.txt']}`]);
    expect(problems).toEqual([]);
    expect(store.copiedBytes).toBeGreaterThan(6_000);
    expect(memberLines(store).map(({ sha256, crc32 }) => [sha256 === '', crc32 === undefined])).toEqual([
      [true, false],
      [false, true],
      [true, false],
    ]);
  });

  it('is read if only its MD5 is known', async () => {
    const body = 'id,name\n'.concat('1,one\n'.repeat(500));
    const { store, shards, problems } = await packed({ 'a.csv': body, 'b.csv': body }, csv, { kept: 'none' });
    const rows = '1,one\n'.repeat(500);
    expect(shards).toEqual([`id,name\n${rows}${rows}`]);
    expect(problems).toEqual([]);
    expect(store.copiedBytes).toBe(0);
    const sha256 = hash('sha256', rows);
    const line = { sha256, media: { lines: 501 } };
    expect(memberLines(store)).toMatchObject([line, line]);
    expect(memberLines(store).map(({ crc32, unchecked }) => [crc32, unchecked])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it('fails if it was read with other bytes', async () => {
    const store = new MemoryBlobStore();
    store.seed(`${incoming}a.txt`, text(4_000));
    const get = store.get.bind(store);
    store.get = async (key, options) => {
      const found = await get(key, options);
      if (options?.range?.length !== 1_000 || found.kind !== 'found') return found;
      return { ...found, chunks: [Buffer.alloc(found.size, 'x')] };
    };
    await expect(packAll(store, plain)).rejects.toThrow('other bytes');
  });

  it('is copied without its header', async () => {
    // A source with another header is rejected.
    const body = 'id,name\n'.concat('1,one\n'.repeat(500));
    const sources = { 'a.csv': body, 'b.csv': `\uFEFF${body}`, 'c.csv': body.replace('id', 'no') };
    const { store, shards, problems } = await packed(sources, csv);
    const rows = '1,one\n'.repeat(500);
    expect(shards).toEqual([`id,name\n${rows}${rows}`]);
    expect(problems).toEqual([]);
    expect(store.copiedBytes).toBeGreaterThan(4_000);
    const manifest = await readSealedManifest(store, PIPELINE, RUN);
    expect(manifest?.rejections.byReason).toEqual({ headerDiffers: 1 });
  });

  it('is read if the copy has no checksum', async () => {
    // The sealed bytes are the same in both cases.
    const sources = { 'a.txt': text(4_000, ''), 'b.txt': 'small', 'c.txt': text(9_999) };
    const [copied, read] = [
      await packed(sources, plain),
      await packed(sources, plain, { checksCopies: false }),
    ];
    expect(read.store.copiedBytes).toBe(0);
    const generation = bucketKeys.generation(PIPELINE, RUN);
    expect(read.store.keys(generation)).toEqual(copied.store.keys(generation));
    for (const key of copied.store.keys(`${generation}shards/`))
      expect(read.store.body(key)).toEqual(copied.store.body(key));
    expect(memberLines(read.store)).toEqual(memberLines(copied.store));
  });

  it('loses its byte-order mark, copied or read', async () => {
    const mark = '\ufeff';
    const sources = {
      'a.txt': `${mark}1`,
      'b.txt': `${mark}${text(4_000)}`,
      'c.txt': `${mark}3\n`,
      'd.txt': mark,
    };
    const [copied, read] = [
      await packed(sources, plain),
      await packed(sources, plain, { checksCopies: false }),
    ];
    expect(copied.shards).toEqual([`1\n${text(4_000)}3\n`]);
    expect(read.shards).toEqual(copied.shards);
    expect(copied.store.copiedBytes).toBeGreaterThan(0);
    expect([...copied.problems, ...read.problems]).toEqual([]);
  });

  it('gives the same shard copied or read', async () => {
    const size = fc.oneof(fc.nat(600), fc.integer({ min: 900, max: 6_000 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(size, fc.boolean()), { minLength: 1, maxLength: 6 }),
        async (sizes) => {
          const sources = Object.fromEntries(
            sizes.map(([bytes, ended], index) => [
              `${index}.txt`,
              bytes === 0 ? '' : text(bytes, ended ? '\n' : ''),
            ]),
          );
          const { shards, problems } = await packed(sources, plain);
          const expected = Object.values(sources).map((body) =>
            body === '' || body.endsWith('\n') ? body : `${body}\n`,
          );
          expect(shards.join('')).toBe(expected.join(''));
          expect(problems).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is verified byte by byte', async () => {
    const { store } = await packed({ 'a.txt': text(4_000), 'b.txt': text(2_000) }, plain);
    const [shard = ''] = store.keys(bucketKeys.shards(PIPELINE, RUN));
    const body = store.body(shard);
    body.writeUInt8(body.readUInt8(3_000) ^ 1, 3_000);
    store.objects.set(shard, { body, etag: store.objects.get(shard)?.etag ?? '' });
    const manifest = await readSealedManifest(store, PIPELINE, RUN);
    const problems = manifest === undefined ? [] : (await verifyGeneration(store, manifest)).problems;
    expect(problems.join('\n')).toMatch(/holds other bytes for "a~/);
  });

  it('is deferred if it changes after the plan', async () => {
    // The seal is the same wherever a worker is killed.
    const sources = { 'a.txt': text(4_000), 'b.txt': text(5_000, ''), 'c.txt': text(2_500) };
    const calm = (await packed(sources, plain)).shards;
    for (let seed = 0; seed < 10; seed += 1) {
      const store = new MemoryBlobStore();
      store.keptSum = 'crc32';
      for (const [key, body] of Object.entries(sources)) store.seed(`${incoming}${key}`, body);
      await persist(store, `copy ${seed}`, (faulty) => packAll(faulty, plain));
      expect(store.keys(bucketKeys.shards(PIPELINE, RUN)).map((key) => store.body(key).toString())).toEqual(
        calm,
      );
    }
    const changing = new MemoryBlobStore();
    changing.keptSum = 'crc32';
    for (const [key, body] of Object.entries(sources)) changing.seed(`${incoming}${key}`, body);
    const copyPart = changing.copyPart.bind(changing);
    changing.copyPart = (upload, part, source) => {
      if (source.key.endsWith('b.txt') && source.offset > 2_000) changing.seed(source.key, text(7_000));
      return copyPart(upload, part, source);
    };
    await packAll(changing, plain);
    const manifest = await readSealedManifest(changing, PIPELINE, RUN);
    expect(manifest?.arrivals).toMatchObject({ packed: 2, deferred: 1 });
    expect(manifest && (await verifyGeneration(changing, manifest)).problems).toEqual([]);
    changing.copyPart = copyPart;
    expect(await packAll(changing, plain, 'digits-000002')).toMatchObject({ samples: 1 });
  });
});
