/** Copies that make counts equal are made again by the compaction after a correction, so they never add up. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { current } from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';

const EVEN = {
  shardMegabytes: 256,
  remainder: 'even',
  shardsMultipleOf: 4,
  leastShardsPerWorker: 1,
} as const;
const SPLIT = { train: 0.5, validation: 0.5, by: 'key' } as const;

/** Packs drops of a few objects, each of which corrects one of the first drop. */
async function corrected(changes: Partial<PackingSettings>, drops: readonly (readonly string[])[]) {
  const world = new DatasetWorld(changes);
  for (const [index, keys] of drops.entries()) {
    world.put(Object.fromEntries(keys.map((key) => [key, `${key} of drop ${index}`])));
    await world.run();
  }
  const manifests = await current(world.store);
  return {
    counts: manifests.flatMap(({ shards }) => shards.map(({ samples }) => samples)),
    objects: Object.keys(await world.held()),
  };
}

const FIVE = ['a/1.txt', 'a/2.txt', 'a/3.txt', 'a/4.txt', 'a/5.txt'];

describe('equal counts after corrections', () => {
  it.each(['webdataset', 'parquet'] as const)('need few copies in %s', async (format) => {
    const drops = [FIVE, ['a/1.txt', 'b/1.txt', 'b/2.txt'], ['a/2.txt', 'b/3.txt']];
    const { counts, objects } = await corrected({ ...EVEN, format }, drops);
    expect(objects.sort()).toEqual([...FIVE, 'b/1.txt', 'b/2.txt', 'b/3.txt']);
    expect(counts).toEqual([2, 2, 2, 2]);
  });

  it('are those of each split', async () => {
    const many = Array.from({ length: 18 }, (_, number) => `a/${number}.txt`);
    const drops = [many, ['a/1.txt', 'b/1.txt', 'b/2.txt', 'b/3.txt', 'b/4.txt']];
    const { counts, objects } = await corrected({ ...EVEN, split: SPLIT }, drops);
    expect(objects).toHaveLength(22);
    expect(counts).toEqual([2, 2, 2, 2, 4, 4, 4, 4]);
  });
});
