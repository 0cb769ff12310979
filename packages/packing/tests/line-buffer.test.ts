import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineBuffer } from '../documents/compressed-lines.ts';
import { Lookahead, samplesByShard } from '../plan/item-lists.ts';

describe('a line buffer', () => {
  it('holds lines of any length after any clear', () => {
    const text = new LineBuffer();
    const lines = fc.array(fc.string({ unit: 'grapheme', maxLength: 9_000 }), { maxLength: 20 });
    fc.assert(
      fc.property(lines, (all) => {
        text.clear();
        for (const line of all) text.add(line);
        expect(text.bytes).toEqual(Buffer.from(all.map((line) => `${line}\n`).join('')));
        expect(text.lines).toBe(all.length);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a sequence with two readers', () => {
  it('is the same for both at any distance', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.array(fc.boolean(), { maxLength: 600 }), (count, turns) => {
        const all = Array.from({ length: count }, (_, index) => index);
        const both = new Lookahead(all);
        const ahead = both.ahead();
        const seen: { ahead: number[]; behind: number[] } = { ahead: [], behind: [] };
        for (const isAhead of [...turns, ...all.map(() => false)]) {
          const value = isAhead ? ahead.next().value : both.next();
          if (typeof value === 'number') seen[isAhead ? 'ahead' : 'behind'].push(value);
        }
        expect(seen.behind).toEqual(all);
        expect(all).toEqual(expect.arrayContaining(seen.ahead));
      }),
      { numRuns: 100 },
    );
  });
});

const line = (shard: number, ordinal: number, key: string, repeat = 0): string =>
  `${JSON.stringify([shard, 0, ordinal, key, 5, 'e', 0, repeat])}\n`;

describe("an item's list", () => {
  it('splits into shards that can be iterated repeatedly', () => {
    const list = samplesByShard(
      line(1, 7, '1,a') + line(1, 7, 'b') + line(1, 7, 'c', 1) + line(12, 8, 'd') + line(120, 9, 'e'),
    );
    expect([...list.keys()]).toEqual([1, 12, 120]);
    const keysOf = (shard: number): string[][] =>
      [...(list.get(shard) ?? [])].map(({ members }) => members.map(({ key }) => key));
    expect(keysOf(1)).toEqual([['1,a', 'b'], ['c']]);
    expect(keysOf(1)).toEqual(keysOf(1));
    expect(keysOf(12)).toEqual([['d']]);
    expect(keysOf(120)).toEqual([['e']]);
  });

  it('is refused if cut off, damaged or unsorted', () => {
    expect(() => samplesByShard(line(1, 7, 'a').slice(0, -1))).toThrow('cut off');
    expect(() => samplesByShard('damaged\n')).toThrow('damaged');
    expect(() => samplesByShard(line(1, 7, 'a') + line(2, 8, 'b') + line(1, 9, 'c'))).toThrow('not sorted');
    expect(samplesByShard('').size).toBe(0);
  });
});
