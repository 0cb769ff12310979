/** A run that begins from a model reads what is new since that model, and a share of what the model has seen. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import {
  type Arrivals,
  current,
  incoming,
  linesIn,
  runOf,
} from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { PIPELINE, SMALL } from '../../../../test/support/builders/packing.ts';
import { packCompaction } from '../../compaction/compact-shards.ts';
import { itemsOf, readCompactionPlan } from '../../compaction/plan-compaction.ts';
import { type PlannedDrawing, planDrawing } from '../../compaction/plan-drawing.ts';
import { sealCompaction } from '../../compaction/seal-compaction.ts';
import { readSealedManifest } from '../../documents/sealed-arrivals.ts';
import { hashPlace } from '../../splits/split-rule.ts';

const RUN = runOf(900);
const CSV = 'id,name\n';
const images = (drop: number): Arrivals =>
  Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`${index % 2}/${drop}-${index}.jpg`, `${drop} ${index}`]),
  );
const tables = (drop: number): Arrivals =>
  Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`${drop}-${index}.csv`, `${CSV}${drop},${index}\n`]),
  );

interface Read {
  readonly planned: PlannedDrawing | undefined;
  /** Names the samples that were joined for the run. */
  readonly drawn: readonly string[];
}

const generations = async ({ store }: DatasetWorld): Promise<string[]> =>
  (await current(store)).map(({ generation }) => generation);

async function read(
  world: DatasetWorld,
  seen: readonly string[],
  { replay = 0, runId = RUN }: { readonly replay?: number; readonly runId?: string } = {},
): Promise<Read> {
  const { store, packing } = world;
  const input = { runId, pipeline: PIPELINE, packing, generations: await generations(world), seen, replay };
  const planned = await planDrawing(store, input);
  if (planned === undefined || planned.generation === '') return { planned, drawn: [] };
  const { generation } = planned;
  const plan = await readCompactionPlan(store, PIPELINE, generation);
  for (const item of itemsOf(plan))
    await packCompaction({ store, ...SMALL, readBytes: 1_000 }, { pipeline: PIPELINE, packing, item });
  const sealed = await sealCompaction(store, { pipeline: PIPELINE, packing, generation });
  expect(sealed.status).toBe('drawn');
  const manifest = await readSealedManifest(store, PIPELINE, generation);
  if (manifest === undefined) throw new Error('nothing was sealed');
  expect(manifest.drawn).toEqual({
    run: runId,
    replay,
    new: planned.new,
    replayed: planned.replayed,
    earlier: planned.earlier,
  });
  const keys = linesIn(store, manifest).flatMap(({ key, repeat }) =>
    key === undefined || repeat !== undefined ? [] : [key.slice(incoming.length)],
  );
  return { planned, drawn: keys.sort() };
}

async function inDrops(
  drops: readonly Arrivals[],
  changes: Partial<PackingSettings> = {},
): Promise<DatasetWorld> {
  const world = new DatasetWorld(changes);
  for (const drop of drops) {
    world.put(drop);
    await world.run();
  }
  return world;
}

/** The hash of key and run decides, and nothing else. */
const expected = (keys: readonly string[], replay: number, runId = RUN): string[] =>
  keys.filter((key) => hashPlace(`${runId} ${incoming}${key}`) < replay).sort();

describe.each([
  ['webdataset', {}, images],
  ['tfrecord in gzip', { format: 'tfrecord', tfrecord: { compression: 'gzip' } }, images],
  ['recordio', { format: 'recordio' }, images],
  ['mds', { format: 'mds' }, images],
  ['parquet', { format: 'parquet' }, images],
  ['csv under one header', { format: 'lines', lines: { kind: 'csv', header: 'perShard' } }, tables],
] as readonly (readonly [string, Partial<PackingSettings>, (drop: number) => Arrivals])[])(
  'drawing from %s',
  (_name, changes, drop) => {
    it('joins a share of the earlier samples', async () => {
      const world = await inDrops([1, 2, 3].map(drop), changes);
      const { planned, drawn } = await read(world, [runOf(1), runOf(2)], { replay: 0.4 });
      const earlier = [1, 2].flatMap((number) => Object.keys(drop(number)));
      expect(drawn).toEqual(expected(earlier, 0.4));
      expect(planned).toMatchObject({ whole: [runOf(3)], new: 12, replayed: drawn.length, earlier: 24 });
    });
  },
);

describe('what a run reads', () => {
  it('is the new generations as they lie', async () => {
    const world = await inDrops([1, 2, 3].map(images));
    const before = world.store.keys('').length;
    const { planned } = await read(world, [runOf(1)]);
    expect(planned).toMatchObject({ status: 'nothingToCompact', whole: [runOf(2), runOf(3)], new: 24 });
    expect(world.store.keys('')).toHaveLength(before);
  });

  it('is the same in every try, and another in another run', async () => {
    const world = await inDrops([1, 2].map(images));
    const first = await read(world, [runOf(1)], { replay: 0.5 });
    const written = world.store.keys('').length;
    expect(await read(world, [runOf(1)], { replay: 0.5 })).toEqual(first);
    expect(world.store.keys('')).toHaveLength(written);
    const other = await read(world, [runOf(1)], { replay: 0.5, runId: runOf(901) });
    expect(other.drawn).not.toEqual(first.drawn);
  });

  it('is nothing where the model has seen all', async () => {
    const world = await inDrops([1, 2].map(images));
    expect((await read(world, [runOf(1), runOf(2)], { replay: 0.5 })).planned).toBeUndefined();
    const seen = await generations(world);
    await world.compact({ after: 2, everything: true });
    expect((await read(world, seen, { replay: 0.5 })).planned).toBeUndefined();
  });

  it('is each new sample of a joined generation', async () => {
    const world = await inDrops([1, 2, 3].map(images));
    await world.compact({ after: 2, everything: true });
    const [joined = ''] = await generations(world);
    const { planned, drawn } = await read(world, [runOf(1), runOf(2)]);
    expect(drawn).toEqual(Object.keys(images(3)).sort());
    expect(planned).toMatchObject({ whole: [], new: 12, replayed: 0, earlier: 24 });
    world.put(images(4));
    await world.run();
    const later = await read(world, [joined], { replay: 1 });
    expect(later.planned).toMatchObject({ whole: [runOf(4)], new: 12, replayed: 36, earlier: 36 });
  });

  it('is a corrected sample, as a new one', async () => {
    const world = await inDrops([{ ...images(1), '0/1-0.json': '{}' }, images(2)]);
    const seen = await generations(world);
    world.put({ '0/1-0.json': '{"right": true}' });
    await world.run();
    const { planned, drawn } = await read(world, seen);
    expect(drawn).toEqual(['0/1-0.jpg', '0/1-0.json']);
    expect(planned).toMatchObject({ new: 1, replayed: 0 });
  });

  it('has nothing that was retracted', async () => {
    const world = await inDrops([1, 2].map(images));
    await world.retract('0/1-0.jpg', '0/2-0.jpg');
    const { planned, drawn } = await read(world, [runOf(1)], { replay: 1 });
    const all = [1, 2].flatMap((number) => Object.keys(images(number)));
    expect(drawn).toEqual(all.filter((key) => !/\d-0\.jpg$/.test(key)).sort());
    expect(planned).toMatchObject({ new: 11, replayed: 11, earlier: 11 });
  });

  it('leaves what measures alone', async () => {
    const split: PackingSettings['split'] = { by: 'folder', train: ['0'], validation: ['1'] };
    const world = await inDrops([1, 2].map(images), { split, label: 'none' });
    const { planned, drawn } = await read(world, [runOf(1)], { replay: 1 });
    expect(drawn).toEqual(
      Object.keys(images(1))
        .filter((key) => key.startsWith('0/'))
        .sort(),
    );
    expect(planned).toMatchObject({ new: 6, replayed: 6, earlier: 6 });
    const manifest = await readSealedManifest(world.store, PIPELINE, planned?.generation ?? '');
    expect(manifest?.shards.every(({ name }) => name.startsWith('train/'))).toBe(true);
  });

  it('has shards of equal counts where they are declared', async () => {
    const even = { remainder: 'even', shardsMultipleOf: 2, leastShardsPerWorker: 1 } as const;
    const world = await inDrops([1, 2].map(images), even as Partial<PackingSettings>);
    const { planned } = await read(world, [runOf(1)], { replay: 0.6 });
    const manifest = await readSealedManifest(world.store, PIPELINE, planned?.generation ?? '');
    expect(new Set(manifest?.shards.map(({ samples }) => samples)).size).toBe(1);
  });

  it('needs generations of one kind', async () => {
    const world = await inDrops([images(1), { 'a.jpg': 'no folder names it' }, images(3)], { format: 'mds' });
    await expect(read(world, [runOf(1)], { replay: 1 })).resolves.toMatchObject({ planned: { new: 13 } });
    const both = read(world, [runOf(1), runOf(2)], { replay: 1 });
    await expect(both).rejects.toThrow(
      /^digits-000001 has other .* than digits-000002, .* dataset\.read: all/,
    );
  });
});

it('a share of many samples is that share', async () => {
  const many = (drop: number): Arrivals =>
    Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`${drop}/${index}.jpg`, '']));
  const world = await inDrops([many(1), images(2)]);
  const { planned } = await read(world, [runOf(1)], { replay: 0.2 });
  expect(Math.abs((planned?.replayed ?? 0) - 400)).toBeLessThan(60);
});
