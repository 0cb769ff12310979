/** A compaction that leaves samples out of a balanced generation balances what it joins. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems, runOf } from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, planAndPack, SMALL, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';

const BALANCED = { balance: 'over', shardMegabytes: 0.004 } as const;

const compacted = (store: MemoryBlobStore, packing: PackingSettings, ...retracted: string[]) =>
  compact(
    store,
    {
      pipeline: PIPELINE,
      packing,
      after: 'never',
      onChange: 'replace',
      ...(retracted.length > 0 && { retracted: new Set(retracted.map((key) => incoming + key)) }),
    },
    { ...SMALL, readBytes: 1_000 },
  );

async function drop(
  store: MemoryBlobStore,
  packing: PackingSettings,
  { batch, files }: { readonly batch: number; readonly files: readonly string[] },
): Promise<void> {
  for (const key of files) store.seed(`${incoming}${key}`, `${key} of drop ${batch}`);
  const input = { runId: runOf(batch), pipeline: PIPELINE, packing };
  await planShards({ store, now }, { ...input, onChange: 'replace' });
  await planAndPack(store, packing, input.runId);
  await sealDataset({ store }, input);
  await compacted(store, packing);
}

const named = (label: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${label}/${number}.txt`);

/** Four cats and twelve dogs. */
async function pets(packing: PackingSettings): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  await drop(store, packing, { batch: 1, files: [...named('cat', 4), ...named('dog', 12)] });
  return store;
}

/** How often the dataset holds each object. */
async function held(store: MemoryBlobStore): Promise<Record<string, number>> {
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
    const packing = settings({ ...BALANCED, ...format });
    const store = await pets(packing);
    expect(await held(store)).toMatchObject({ cat: 12, dog: 12, 'cat/1.txt': 3 });
    await drop(store, packing, { batch: 2, files: ['cat/1.txt', 'dog/5.txt'] });
    const after = await held(store);
    expect(after).toMatchObject({ cat: 12, dog: 12, 'cat/0.txt': 3, 'cat/1.txt': 3, 'dog/5.txt': 1 });
    const [joined] = await current(store);
    expect(joined?.balance?.classes['cat']).toEqual({ samples: 4, planned: 12, sealed: 12 });
  });

  it('has other copies where its class has grown', async () => {
    const packing = settings(BALANCED);
    const store = await pets(packing);
    await drop(store, packing, { batch: 2, files: ['cat/1.txt', 'cat/8.txt', 'cat/9.txt', 'bird/1.txt'] });
    expect(await held(store)).toMatchObject({ cat: 12, dog: 12, bird: 12, 'cat/9.txt': 2 });
  });

  it('is copied only where it trains', async () => {
    const packing = settings({ ...BALANCED, split: { train: 0.5, validation: 0.5, by: 'key' } });
    const store = await pets(packing);
    await drop(store, packing, { batch: 2, files: [...named('cat', 4), 'dog/1.txt'] });
    const [joined] = await current(store);
    const classes = Object.values(joined?.balance?.classes ?? {});
    expect(classes.map(({ planned }) => planned)).toEqual([classes[0]?.planned, classes[0]?.planned]);
    expect(await held(store)).toMatchObject({ 'dog/1.txt': 1 });
  });

  it('leaves the shards even', async () => {
    const packing = settings({ ...BALANCED, remainder: 'even', shardsMultipleOf: 2 });
    const store = await pets(packing);
    await drop(store, packing, { batch: 2, files: ['cat/1.txt', 'cat/2.txt'] });
    const counts = (await current(store)).flatMap(({ shards }) => shards.map(({ samples }) => samples));
    expect(new Set(counts).size).toBe(1);
    const { cat = 0, dog = 0 } = await held(store);
    expect(Math.min(cat, dog)).toBeGreaterThanOrEqual(12);
  });
});

describe('retracted samples of a large class', () => {
  it('take the copies of smaller classes along', async () => {
    const packing = settings(BALANCED);
    const store = await pets(packing);
    await compacted(store, packing, ...named('dog', 6));
    expect(await held(store)).toMatchObject({ cat: 6, dog: 6, 'dog/11.txt': 1 });
    await compacted(store, packing, ...named('dog', 11));
    expect(await held(store)).toMatchObject({ cat: 4, dog: 4, 'dog/11.txt': 4 });
  });
});
