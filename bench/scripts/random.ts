/** Numbers that a seed decides. Pure. */
import { createHash } from 'node:crypto';

/** From 0 to 1, the same sequence for the same text. */
export function seededRandom(seed: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    const hash = createHash('sha256').update(`${seed} ${count}`).digest();
    return hash.readUInt32LE() / 2 ** 32;
  };
}
