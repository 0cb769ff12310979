/** Copies that make counts equal are made again by the compaction after a correction, so they never add up. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems, runOf } from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, planAndPack, SMALL, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';

const EVEN = { remainder: 'even', shardsMultipleOf: 4, leastShardsPerWorker: 1 } as const;
const SPLIT = { train: 0.5, validation: 0.5, by: 'key' } as const;

/** Packs drops of a few objects, each of which corrects one of the first drop. */
async function corrected(packing: PackingSettings, drops: readonly (readonly string[])[]) {
  const store = new MemoryBlobStore();
  for (const [index, keys] of drops.entries()) {
    for (const key of keys) store.seed(`${incoming}${key}`, `${key} of drop ${index}`);
    const input = { runId: runOf(index + 1), pipeline: PIPELINE, packing };
    await planShards({ store, now }, { ...input, onChange: 'replace' });
    await planAndPack(store, packing, input.runId);
    await sealDataset({ store }, input);
    const choice = { pipeline: PIPELINE, packing, after: 'never', onChange: 'replace' } as const;
    await compact(store, choice, { ...SMALL, readBytes: 1_000 });
  }
  expect(await problems(store)).toEqual([]);
  const manifests = await current(store);
  const sources = manifests.flatMap((one) => linesIn(store, one)).filter(({ key }) => key !== undefined);
  return {
    counts: manifests.flatMap(({ shards }) => shards.map(({ samples }) => samples)),
    objects: sources
      .filter(({ repeat }) => repeat === undefined)
      .map(({ key = '' }) => key.slice(incoming.length)),
  };
}

const FIVE = ['a/1.txt', 'a/2.txt', 'a/3.txt', 'a/4.txt', 'a/5.txt'];

describe('equal counts after corrections', () => {
  it.each(['webdataset', 'parquet'] as const)('need few copies in %s', async (format) => {
    const drops = [FIVE, ['a/1.txt', 'b/1.txt', 'b/2.txt'], ['a/2.txt', 'b/3.txt']];
    const { counts, objects } = await corrected(settings({ ...EVEN, format }), drops);
    expect(objects.sort()).toEqual([...FIVE, 'b/1.txt', 'b/2.txt', 'b/3.txt']);
    expect(counts).toEqual([2, 2, 2, 2]);
  });

  it('are those of each split', async () => {
    const many = Array.from({ length: 18 }, (_, number) => `a/${number}.txt`);
    const drops = [many, ['a/1.txt', 'b/1.txt', 'b/2.txt', 'b/3.txt', 'b/4.txt']];
    const { counts, objects } = await corrected(settings({ ...EVEN, split: SPLIT }), drops);
    expect(objects).toHaveLength(22);
    expect(counts).toEqual([2, 2, 2, 2, 4, 4, 4, 4]);
  });
});
