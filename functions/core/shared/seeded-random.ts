/** Numbers in [0, 1) that only look random: the same seed gives the same ones everywhere (xorshift, 32 bits). */
export function seeded(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The index that a draw of [0, 1) falls on. */
export function pick(weights: ArrayLike<number>, draw: number): number {
  let rest = draw;
  for (let k = 0; k < weights.length; k += 1) {
    rest -= weights[k] ?? 0;
    if (rest < 0) return k;
  }
  return weights.length - 1;
}
