/** Two old shards may each hold a copy of one sample with the same number. In one joined shard they stay two. */
import { describe, expect, it } from 'vitest';
import { settings } from '../../../../test/support/builders/packing.ts';
import { type JoinInput, placesOf } from '../../compaction/join-job.ts';
import { BufferedBytes } from '../../compaction/shard-reader.ts';
import type { MemberLine } from '../../documents/documents.ts';
import { formatOf } from '../../formats/formats.ts';

const lineOf = (sample: number, repeat?: number): MemberLine => ({
  name: `${sample}.txt`,
  column: 'txt',
  size: 1,
  offset: 0,
  sha256: '',
  sample,
  ...(repeat !== undefined && { repeat }),
});

/** An old shard of one generation, with one line for each sample. */
const shardOf = (lines: readonly MemberLine[]): JoinInput => ({
  reader: new BufferedBytes(Buffer.alloc(0), 0),
  readFrom: () => new BufferedBytes(Buffer.alloc(0), 0),
  samples: lines.map((line) => [line]),
  kept: lines.map((_, index) => index),
  extents: undefined,
  base: 10,
  added: new Map(),
  mostHeldBytes: 1,
});

const packing = settings({});

/** The copies of each sample of the joined shard, by number. */
function copiesIn(inputs: readonly JoinInput[], order: readonly number[], samples = 0): [number, number[]][] {
  const job = { key: 'k', packing, format: formatOf(packing), schema: {}, inputs, samples };
  return [...placesOf({ ...job, order: Uint32Array.from(order) })].map(({ sample: [line], copies }) => [
    line?.sample ?? -1,
    [line?.repeat ?? 0, ...copies],
  ]);
}

describe('the numbers of copies in a joined shard', () => {
  it('are other ones where two shards have the same', () => {
    const inputs = [shardOf([lineOf(0, 4)]), shardOf([lineOf(0, 4), lineOf(1, 4)])];
    expect(copiesIn(inputs, [0, 1, 1])).toEqual([
      [0, [4]],
      [0, [5]],
      [1, [4]],
    ]);
  });

  it('are no numbers of new copies', () => {
    const inputs = [shardOf([lineOf(0, 4)]), shardOf([lineOf(0, 4)])];
    const numbers = copiesIn(inputs, [0, 1], 5).flatMap(([, copies]) => copies);
    expect(new Set(numbers).size).toBe(5);
  });
});
