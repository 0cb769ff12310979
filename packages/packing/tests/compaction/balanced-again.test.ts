/** A compaction that leaves samples out of a balanced generation balances what it joins. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems } from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';

const BALANCED = { balance: 'over', shardMegabytes: 0.004 } as const;

async function drop(world: DatasetWorld, files: readonly string[]): Promise<void> {
  world.put(Object.fromEntries(files.map((key) => [key, `${key} of drop ${world.batch + 1}`])));
  await world.run();
}

const named = (label: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${label}/${number}.txt`);

/** Four cats and twelve dogs. */
async function pets(changes: Partial<PackingSettings> = {}): Promise<DatasetWorld> {
  const world = new DatasetWorld({ ...BALANCED, ...changes });
  await drop(world, [...named('cat', 4), ...named('dog', 12)]);
  return world;
}

/** How often the dataset holds each object. */
async function held({ store }: DatasetWorld): Promise<Record<string, number>> {
  expect(await problems(store)).toEqual([]);
  const counts: Record<string, number> = {};
  for (const manifest of await current(store))
    for (const { key, label, made, repeat } of linesIn(store, manifest)) {
      if (key !== undefined)
        counts[key.slice(incoming.length)] = (counts[key.slice(incoming.length)] ?? 0) + 1;
      else if (made === 'label') counts[`${label}`] = (counts[`${label}`] ?? 0) + 1;
      expect(repeat).not.toBe(0);
    }
  return counts;
}

const FORMATS: readonly Partial<PackingSettings>[] = [
  {},
  { format: 'tfrecord' },
  { format: 'tfrecord', tfrecord: { compression: 'gzip' } },
  { format: 'mds' },
  { format: 'parquet' },
];

describe('a corrected sample of a small class', () => {
  it.each(FORMATS)('comes back with its copies in %o', async (format) => {
    const world = await pets(format);
    expect(await held(world)).toMatchObject({ cat: 12, dog: 12, 'cat/1.txt': 3 });
    await drop(world, ['cat/1.txt', 'dog/5.txt']);
    const after = await held(world);
    expect(after).toMatchObject({ cat: 12, dog: 12, 'cat/0.txt': 3, 'cat/1.txt': 3, 'dog/5.txt': 1 });
    const [joined] = await current(world.store);
    expect(joined?.balance?.classes['cat']).toEqual({ samples: 4, planned: 12, sealed: 12 });
  });

  it('has other copies where its class has grown', async () => {
    const world = await pets();
    await drop(world, ['cat/1.txt', 'cat/8.txt', 'cat/9.txt', 'bird/1.txt']);
    expect(await held(world)).toMatchObject({ cat: 12, dog: 12, bird: 12, 'cat/9.txt': 2 });
  });

  it('is copied only where it trains', async () => {
    const world = await pets({ split: { train: 0.5, validation: 0.5, by: 'key' } });
    await drop(world, [...named('cat', 4), 'dog/1.txt']);
    const [joined] = await current(world.store);
    const classes = Object.values(joined?.balance?.classes ?? {});
    expect(classes.map(({ planned }) => planned)).toEqual([classes[0]?.planned, classes[0]?.planned]);
    expect(await held(world)).toMatchObject({ 'dog/1.txt': 1 });
  });

  it('leaves the shards even', async () => {
    const world = await pets({ remainder: 'even', shardsMultipleOf: 2 });
    await drop(world, ['cat/1.txt', 'cat/2.txt']);
    const counts = (await current(world.store)).flatMap(({ shards }) => shards.map(({ samples }) => samples));
    expect(new Set(counts).size).toBe(1);
    const { cat = 0, dog = 0 } = await held(world);
    expect(Math.min(cat, dog)).toBeGreaterThanOrEqual(12);
  });
});

describe('retracted samples of a large class', () => {
  it('take the copies of smaller classes along', async () => {
    const world = await pets();
    await world.retract(...named('dog', 6));
    expect(await held(world)).toMatchObject({ cat: 6, dog: 6, 'dog/11.txt': 1 });
    await world.retract(...named('dog', 11));
    expect(await held(world)).toMatchObject({ cat: 4, dog: 4, 'dog/11.txt': 4 });
  });
});
