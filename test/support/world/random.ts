/** Seeded choices, so that a seed is a whole history. */
export interface Random {
  /** 0 <= x < 1 */
  next(): number;
  chance(probability: number): boolean;
  /** low <= n <= high */
  whole(low: number, high: number): number;
  pick<T>(items: readonly T[]): T;
}

/** mulberry32, by Tommy Ettinger (public domain): 32 bits of state are enough to tell histories apart. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const whole = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    whole,
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[whole(0, items.length - 1)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
  };
}
