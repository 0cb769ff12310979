/** The order in which the samples of several shards follow each other. */
import { randomBelow, seededUint32 } from '@tidewheel/kit/seeded-random.ts';

/**
 * Interleaves the shards at random. All interleavings are equally likely, so the whole is shuffled if each shard is.
 * Every shard is still read sequentially.
 * @param counts samples in each shard
 * @returns for each place the shard whose next sample it gets
 */
export function interleave(counts: readonly number[], seed: string): Uint32Array {
  const left = [...counts];
  let total = counts.reduce((sum, count) => sum + count, 0);
  const order = new Uint32Array(total);
  const next = seededUint32(seed);
  for (let place = 0; place < order.length; place += 1) {
    let pick = randomBelow(next, total);
    let shard = 0;
    while (pick >= (left[shard] ?? 0)) {
      pick -= left[shard] ?? 0;
      shard += 1;
    }
    order[place] = shard;
    left[shard] = (left[shard] ?? 0) - 1;
    total -= 1;
  }
  return order;
}

/** One shard after the other. */
export const concatenate = (counts: readonly number[]): Uint32Array =>
  Uint32Array.from(counts.flatMap((count, shard) => Array.from({ length: count }, () => shard)));
