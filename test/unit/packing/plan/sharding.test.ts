import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_SHARD } from '../../../../functions/core/packing/model/division.ts';
import { type DealingLimits, dealSamples } from '../../../../functions/core/packing/plan/sharding.ts';

const limits = (changes: Partial<DealingLimits> = {}): DealingLimits => ({
  shardBytes: 1_000,
  seed: 'seed',
  shuffle: true,
  multipleOf: 1,
  remainder: 'ragged',
  ...changes,
});
const equal = (count: number, bytes = 10) => ({ count, bytesOf: () => bytes, objectsOf: () => 1 });

function counts(dealing: ReturnType<typeof dealSamples>): number[] {
  const all = Array.from({ length: dealing.shards }, () => 0);
  for (const shard of dealing.shardOf) if (shard !== NO_SHARD) all[shard] = (all[shard] ?? 0) + 1;
  return all;
}

describe('dealing samples to shards', () => {
  it('gives every sample one place, and every shard its places without a gap', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 2_000 }), { maxLength: 300 }),
        fc.record({
          multipleOf: fc.integer({ min: 1, max: 9 }),
          remainder: fc.constantFrom('ragged', 'even', 'drop'),
          shuffle: fc.boolean(),
        }),
        (sizes, choice) => {
          const samples = {
            count: sizes.length,
            bytesOf: (at: number) => sizes[at] ?? 0,
            objectsOf: () => 1,
          };
          const dealing = dealSamples(samples, limits(choice));
          const places = new Set<string>();
          for (let ordinal = 0; ordinal < sizes.length; ordinal += 1) {
            const shard = dealing.shardOf[ordinal] ?? NO_SHARD;
            if (!dealing.dropped.includes(ordinal)) places.add(`${shard}/${dealing.slotOf[ordinal]}`);
          }
          expect(places.size).toBe(sizes.length - dealing.dropped.length);
          expect(counts(dealing).every((count) => count > 0)).toBe(true);
          expect(dealing.itemShards.at(-1)).toBe(dealing.shards);
        },
      ),
    );
  });

  it('makes a multiple of the asked number of shards with equal counts', () => {
    const even = dealSamples(equal(1_003), limits({ multipleOf: 8, remainder: 'even' }));
    expect(even.shards).toBe(16);
    const filled = counts(even).map((count, shard) => {
      const repeated = [...even.repeats.keys()].filter((ordinal) => even.shardOf[ordinal] === shard).length;
      return count + repeated;
    });
    expect(new Set(filled)).toEqual(new Set([63]));
  });

  it('leaves the surplus for later when asked', () => {
    const dropped = dealSamples(equal(1_003), limits({ multipleOf: 8, remainder: 'drop' }));
    expect(new Set(counts(dropped))).toEqual(new Set([62]));
    expect(dropped.dropped).toHaveLength(1_003 - 16 * 62);
  });

  it('keeps the order of keys without a shuffle', () => {
    const dealing = dealSamples(equal(500), limits({ shuffle: false }));
    expect([...dealing.shardOf]).toEqual([...dealing.shardOf].sort((a, b) => a - b));
  });

  it('deals differently for another seed and alike for the same', () => {
    const [a, again, b] = ['x', 'x', 'y'].map((seed) =>
      dealSamples(equal(300), limits({ seed })).shardOf.join(),
    );
    expect(again).toBe(a);
    expect(b).not.toBe(a);
  });
});
