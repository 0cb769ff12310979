import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_SHARD } from '../../documents/shard-count.ts';
import { type AssignmentLimits, assignSamples } from '../../plan/assign-samples.ts';

const limits = (changes: Partial<AssignmentLimits> = {}): AssignmentLimits => ({
  shardBytes: 1_000,
  seed: 'seed',
  shuffle: true,
  multipleOf: 1,
  remainder: 'ragged',
  ...changes,
});
const equal = (count: number, bytes = 10) => ({ count, bytesOf: () => bytes, objectsOf: () => 1 });

function counts(assignment: ReturnType<typeof assignSamples>): number[] {
  const all = Array.from({ length: assignment.shards }, () => 0);
  for (const shard of assignment.shardOf) if (shard !== NO_SHARD) all[shard] = (all[shard] ?? 0) + 1;
  return all;
}

describe('assigning samples to shards', () => {
  it('gives each sample one slot, without gaps', () => {
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
          const assignment = assignSamples(samples, limits(choice));
          const places = new Set<string>();
          for (let ordinal = 0; ordinal < sizes.length; ordinal += 1) {
            const shard = assignment.shardOf[ordinal] ?? NO_SHARD;
            if (!assignment.dropped.includes(ordinal)) places.add(`${shard}/${assignment.slotOf[ordinal]}`);
          }
          expect(places.size).toBe(sizes.length - assignment.dropped.length);
          expect(counts(assignment).every((count) => count > 0)).toBe(true);
          expect(assignment.itemShards.at(-1)).toBe(assignment.shards);
        },
      ),
    );
  });

  it('makes a multiple of the workers, with equal counts', () => {
    const even = assignSamples(equal(1_003), limits({ multipleOf: 8, remainder: 'even' }));
    expect(even.shards).toBe(16);
    const filled = counts(even).map((count, shard) => {
      const repeated = [...even.repeats.keys()].filter((ordinal) => even.shardOf[ordinal] === shard).length;
      return count + repeated;
    });
    expect(new Set(filled)).toEqual(new Set([63]));
  });

  it('defers the surplus with `remainder: drop`', () => {
    const dropped = assignSamples(equal(1_003), limits({ multipleOf: 8, remainder: 'drop' }));
    expect(new Set(counts(dropped))).toEqual(new Set([62]));
    expect(dropped.dropped).toHaveLength(1_003 - 16 * 62);
  });

  it('keeps the order of keys without a shuffle', () => {
    const assignment = assignSamples(equal(500), limits({ shuffle: false }));
    expect([...assignment.shardOf]).toEqual([...assignment.shardOf].sort((a, b) => a - b));
  });
});
