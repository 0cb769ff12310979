import { seededUniform } from '@tidewheel/kit/seeded-random.ts';

/** Seeded choices, so that a seed is a whole history. */
export interface Random {
  /** 0 <= x < 1 */
  next(): number;
  chance(probability: number): boolean;
  /** low <= n <= high */
  whole(low: number, high: number): number;
  pick<T>(items: readonly T[]): T;
}

export function seededChoices(seed: number): Random {
  const next = seededUniform(seed);
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
