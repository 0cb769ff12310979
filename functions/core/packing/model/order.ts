/** Orders and shuffles that are equal on every machine. */
import { createHash } from 'node:crypto';

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

/** Compares keys by their UTF-8 bytes, the order of S3's listings. JavaScript's UTF-16 order differs above U+D7FF. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    if (isSurrogate(left) !== isSurrogate(right)) return isSurrogate(left) ? 1 : -1;
    return left - right;
  }
  return a.length - b.length;
}

/** The generator sfc32, which passes PractRand, seeded by the SHA-256 of a text. Returns whole numbers below 2^32. */
export function seededRandom(seed: string): () => number {
  const digest = createHash('sha256').update(seed).digest();
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

/** Uniform below `bound`, without the bias of a plain remainder. */
export function randomBelow(next: () => number, bound: number): number {
  const limit = 0x1_0000_0000 - (0x1_0000_0000 % bound);
  for (;;) {
    const value = next();
    if (value < limit) return value % bound;
  }
}

/** The position of each index in a seeded Fisher-Yates shuffle of 0..count-1. */
export function shuffledPositions(count: number, seed: string): Uint32Array {
  const positions = new Uint32Array(count);
  for (let index = 0; index < count; index += 1) positions[index] = index;
  const next = seededRandom(seed);
  for (let index = count - 1; index > 0; index -= 1) {
    const other = randomBelow(next, index + 1);
    const kept = positions[index] ?? 0;
    positions[index] = positions[other] ?? 0;
    positions[other] = kept;
  }
  return positions;
}
