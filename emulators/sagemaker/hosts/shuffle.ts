/** The same seed gives the same order (Fisher-Yates over a mulberry32 generator). Pure. */
export function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  const keyed = [...items];
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  for (let last = keyed.length - 1; last > 0; last -= 1) {
    const other = Math.floor(next() * (last + 1));
    const [left, right] = [keyed[last], keyed[other]];
    if (left !== undefined && right !== undefined) {
      keyed[last] = right;
      keyed[other] = left;
    }
  }
  return keyed;
}
