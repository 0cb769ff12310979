/** Parquet shards: row groups, types, samples larger than a row group, and what a wrong footer is called. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { parquetMetadata } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { current, problems, runOf } from '../../../../test/support/builders/compaction.ts';
import { parquetSamples } from '../../../../test/support/builders/decoders.ts';
import {
  incoming,
  memberLines,
  PIPELINE,
  packAll,
  packPipeline,
  RUN,
  settings,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { parquet } from '../../formats/parquet.ts';

const MEGABYTE = 2 ** 20;
const ascending = (a: number, b: number): number => a - b;
const metadataOf = (file: Buffer) => parquetMetadata(new Uint8Array(file).buffer);

/** Sizes of images, whose first byte is their number. */
async function packedImages(sizes: readonly number[], changes: Partial<PackingSettings> = {}) {
  const store = new MemoryBlobStore();
  for (const [index, size] of sizes.entries())
    store.seed(`${incoming}${index % 2}/${index}.jpg`, Buffer.alloc(size, index + 1));
  const packing = settings({ format: 'parquet', shuffle: false, ...changes });
  await packPipeline(store, { runId: RUN, pipeline: PIPELINE, packing });
  const [shard = ''] = store.keys(bucketKeys.shards(PIPELINE, RUN));
  return { store, packing, file: store.body(shard) };
}

describe('a Parquet shard', () => {
  it('gives a large sample its own row group', async () => {
    const sizes = [6, 6, 6, 20, 1, 1].map((size) => size * MEGABYTE);
    const { file } = await packedImages(sizes);
    const groupRows = metadataOf(file).row_groups.map(({ num_rows: rows }) => Number(rows));
    expect(groupRows.toSorted(ascending)).toEqual([1, 1, 1, 3]);
    const rows = await parquetSamples(file);
    const held = rows.map((row) => row.get('image')?.length ?? 0);
    expect(held.toSorted(ascending)).toEqual(sizes.toSorted(ascending));
  }, 60_000);

  it('has strings, integers on demand, and bytes', async () => {
    const typesOf = (file: Buffer) =>
      metadataOf(file)
        .schema.slice(1)
        .map(({ name, type, logical_type: logical }) => [name, type, logical?.type]);
    const { file } = await packedImages([3, 4]);
    expect(typesOf(file)).toEqual([
      ['__key__', 'BYTE_ARRAY', 'STRING'],
      ['image', 'BYTE_ARRAY', undefined],
      ['label', 'BYTE_ARRAY', 'STRING'],
    ]);
    const numbered = await packedImages([3, 4], { labelType: 'integer' });
    expect(typesOf(numbered.file).at(-1)).toEqual(['label', 'INT64', undefined]);
    const rows = await parquetSamples(numbered.file);
    expect(rows.map((row) => [row.get('__key__')?.toString(), row.get('label')?.toString()])).toEqual([
      ['0/0', '0'],
      ['1/1', '1'],
    ]);
  });

  it('is joined with others, also where samples are large', async () => {
    const packing = settings({ format: 'parquet', labelType: 'integer', shardMegabytes: 60 });
    const drop = (first: number, sizes: readonly number[]) =>
      Object.fromEntries(
        sizes.map((size, index) => [`1/${first + index}.jpg`, Buffer.alloc(size, first + index)]),
      );
    const store = new MemoryBlobStore();
    for (const [index, arrivals] of [drop(0, [17 * MEGABYTE, 5, 0]), drop(3, [7, 8])].entries()) {
      for (const [key, body] of Object.entries(arrivals)) store.seed(`${incoming}${key}`, body);
      await packPipeline(store, { runId: runOf(index + 1), pipeline: PIPELINE, packing });
    }
    await compact(store, { pipeline: PIPELINE, packing, after: 2, everything: true });
    const [joined, ...rest] = await current(store);
    expect(rest).toEqual([]);
    expect(await problems(store)).toEqual([]);
    const folder = bucketKeys.shards(PIPELINE, joined?.generation ?? '');
    const rows = (await Promise.all(store.keys(folder).map((key) => parquetSamples(store.body(key))))).flat();
    const held = rows.map((row): [string, object] => [
      row.get('__key__')?.toString() ?? '',
      { bytes: row.get('image')?.length, label: row.get('label')?.toString() },
    ]);
    expect(held).toHaveLength(5);
    expect(Object.fromEntries(held)).toEqual({
      '1/0': { bytes: 17 * MEGABYTE, label: '1' },
      '1/1': { bytes: 5, label: '1' },
      '1/2': { bytes: 0, label: '1' },
      '1/3': { bytes: 7, label: '1' },
      '1/4': { bytes: 8, label: '1' },
    });
  }, 60_000);

  it('is refused with a footer that says something else', async () => {
    const { store, file } = await packedImages([30, 40, 50]);
    const lines = memberLines(store).toSorted((a, b) => a.offset - b.offset);
    expect(parquet.tailProblem?.(file, lines)).toBeUndefined();
    expect(parquet.tailProblem?.(file, lines.slice(1))).toMatch(
      /names 3 rows, not the 2 of the column image/,
    );
    const moved = lines.map((line) => ({ ...line, offset: line.offset + 1 }));
    expect(parquet.tailProblem?.(file, moved)).toMatch(/says another place of the column image/);
    expect(parquet.tailProblem?.(file.subarray(0, -1), lines)).toMatch(
      /no footer that Parquet's readers understand/,
    );
    const other = lines.filter(({ column }) => column === 'image');
    expect(parquet.tailProblem?.(file, other)).toMatch(/without its 1 columns and the key/);
  });

  it('rejects a text that is no UTF-8', async () => {
    const store = new MemoryBlobStore();
    store.seed(`${incoming}a/1.jpg`, 'x');
    store.seed(`${incoming}a/1.json`, Buffer.from([0xff, 0xfe]));
    store.seed(`${incoming}a/2.jpg`, 'y');
    store.seed(`${incoming}a/2.json`, '{}');
    const sealed = await packAll(store, settings({ format: 'parquet' }));
    expect(sealed).toMatchObject({ samples: 1, rejected: 2 });
  });

  it('refuses a member that has no column', async () => {
    const member = { name: 'a/1.cls', stem: 'a/1', column: 'label', size: 1, isLabel: true, body: [] };
    const outline = { ordinal: 0, members: [member] };
    const sink = { position: 0, room: MEGABYTE, write: () => undefined, recent: () => undefined };
    const encoder = parquet.encoder({
      settings: settings({ format: 'parquet' }),
      sourceSchema: { columns: [] },
      outlines: [outline],
    });
    await expect(encoder.add(sink, outline, [member])).rejects.toThrow('the shard has no column label');
  });
});
