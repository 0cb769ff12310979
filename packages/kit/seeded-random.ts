/** Numbers that only look random: the same seed gives the same ones on every machine. */
import { hash } from 'node:crypto';

export type Seed = string | number;

/**
 * Whole numbers below 2^32, by the generator sfc32, which passes PractRand, from the SHA-256 of the seed. The order of
 * the samples in sealed shards depends on it.
 */
export function seededUint32(seed: Seed): () => number {
  const digest = hash('sha256', String(seed), 'buffer');
  let a = digest.readInt32LE(0);
  let b = digest.readInt32LE(4);
  let c = digest.readInt32LE(8);
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round += 1) next();
  return next;
}

/** Uniform in [0, 1). */
export function seededUniform(seed: Seed): () => number {
  const next = seededUint32(seed);
  return () => next() / 2 ** 32;
}

/** A whole number below `bound`, without the bias of a plain remainder. @param next one of `seededUint32` */
export function randomBelow(next: () => number, bound: number): number {
  const limit = 2 ** 32 - (2 ** 32 % bound);
  for (;;) {
    const value = next();
    if (value < limit) return value % bound;
  }
}

/** The index that a draw from [0, 1) falls on. The weights add up to 1. */
export function pick(weights: ArrayLike<number>, draw: number): number {
  let rest = draw;
  for (let k = 0; k < weights.length; k += 1) {
    rest -= weights[k] ?? 0;
    if (rest < 0) return k;
  }
  return weights.length - 1;
}

/** The position of each index in a seeded Fisher-Yates shuffle of 0..count-1. */
export function shuffledPositions(count: number, seed: Seed): Uint32Array {
  const positions = new Uint32Array(count);
  for (let index = 0; index < count; index += 1) positions[index] = index;
  const next = seededUint32(seed);
  for (let index = count - 1; index > 0; index -= 1) {
    const other = randomBelow(next, index + 1);
    const kept = positions[index] ?? 0;
    positions[index] = positions[other] ?? 0;
    positions[other] = kept;
  }
  return positions;
}

export function shuffled<Item>(items: readonly Item[], seed: Seed): Item[] {
  const positions = shuffledPositions(items.length, seed);
  const order = [...items];
  for (const [index, item] of items.entries()) order[positions[index] ?? 0] = item;
  return order;
}
