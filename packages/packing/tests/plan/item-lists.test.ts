import { describe, expect, it } from 'vitest';
import { CompressedLines, decompress } from '../../documents/compressed-lines.ts';
import { assignSamples } from '../../plan/assign-samples.ts';
import { itemLists } from '../../plan/item-lists.ts';

const SAMPLES = 400;
/** Every fourth sample has two copies. */
const COPIES = Uint32Array.from({ length: 200 }, (_, index) => Math.floor(index / 2) * 4);

const sampleOf = (place: number): number => COPIES[place - SAMPLES] ?? place;
const assignment = assignSamples(
  {
    count: SAMPLES + COPIES.length,
    bytesOf: () => 20_000_000,
    objectsOf: () => 1,
    isPlanned: (place) => sampleOf(place) % 7 !== 0,
  },
  { shardBytes: 100_000_000, seed: 'lists', shuffle: true, multipleOf: 2, remainder: 'even' },
);

function lists(windowCharacters?: number): string[] {
  const arrivals = new CompressedLines();
  for (let ordinal = 0; ordinal < SAMPLES; ordinal += 1) {
    arrivals.add(JSON.stringify([`a,"],${ordinal}`, 1, 'e', ordinal, 0]));
    arrivals.add(JSON.stringify([`rejected,${ordinal},0`, 1, 'e', 'tooLarge']));
  }
  const assigned = { assignment, samples: SAMPLES, copies: COPIES };
  const all = [...itemLists(arrivals, assigned, windowCharacters)];
  expect(all.map(({ item }) => item)).toEqual(all.map((_, index) => index));
  return all.map(({ bytes }) => decompress(bytes));
}

describe('the lists of the items', () => {
  it('are the same for any window size', () => {
    const whole = lists();
    expect(whole.length).toBeGreaterThan(20);
    for (const window of [1, 5_000, 20_000]) expect(lists(window)).toEqual(whole);
  });

  it('hold every assigned sample and every copy', () => {
    const held = lists()
      .join('')
      .trimEnd()
      .split('\n')
      .map((line): [number, number, number] => JSON.parse(line));
    const assigned = Array.from(assignment.shardOf).filter((shard) => shard < assignment.shards).length;
    expect(held).toHaveLength(assigned + assignment.repeats.size);
    expect(new Set(held.map(([, , ordinal]) => ordinal)).size).toBe(
      Array.from({ length: SAMPLES }, (_, ordinal) => ordinal).filter((ordinal) => ordinal % 7 !== 0).length,
    );
    expect(new Set(held.map(([shard, slot]) => `${shard}/${slot}`)).size).toBe(held.length);
  });
});
