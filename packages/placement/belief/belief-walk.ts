/**
 * Advances a belief through observations by the rules of regimes.ts, in two arrays used alternately. A placement takes
 * ten thousand of these steps, and collecting a new array for each took longer than the steps.
 */
import { advanceInto, type Belief, type Matrix, multiply, observeInPlace } from './regimes.ts';

/** An update at one moment: the likelihoods with and without capacity. */
export interface Lesson {
  readonly up: number;
  readonly down: number;
  /** A neighbouring pool lost its capacity at that moment: the chance that this pool did too. */
  readonly struck?: number;
}

/** Likelihoods from the pool's own long-run statistics. */
export type OwnShare = Pick<Lesson, 'up' | 'down'>;

export interface Chain {
  readonly start: Belief;
  /** One step of time to the powers 1, 2, 4, ... */
  readonly doublings: readonly Matrix[];
  /** One step of time to the powers 1 to 63, each computed on first use. */
  readonly power: (steps: number) => Matrix | undefined;
}

const KEPT_BITS = 6;
const KEPT = 2 ** KEPT_BITS;

/** Mostly minutes to hours pass between two observations; one product covers them instead of one for each bit. */
export function keptPowers(doublings: readonly Matrix[]): Chain['power'] {
  const kept: (Matrix | undefined)[] = Array.from({ length: KEPT });
  const power = (steps: number): Matrix | undefined => {
    if (kept[steps] !== undefined) return kept[steps];
    const highest = 31 - Math.clz32(steps);
    const rest = steps - 2 ** highest;
    const first = doublings[highest];
    const others = rest > 0 ? power(rest) : undefined;
    kept[steps] = first && others ? multiply(others, first) : first;
    return kept[steps];
  };
  return power;
}

export interface Walk {
  pass(steps: number): void;
  learn(lesson: Lesson): void;
  /** Moves the belief towards the pool's own long-run share, with a weight from 0 to 1. */
  tilt(own: OwnShare | undefined, weight: number): void;
  belief(): Belief;
}

export function beginWalk({ start, doublings, power }: Chain): Walk {
  let now = start.slice();
  let other = start.slice();
  const step = (matrix: Matrix): void => {
    advanceInto(other, now, matrix);
    [now, other] = [other, now];
  };
  return {
    pass(steps) {
      const few = steps % KEPT;
      const kept = few > 0 ? power(few) : undefined;
      if (kept !== undefined) step(kept);
      for (let k = KEPT_BITS, rest = steps >> KEPT_BITS; rest > 0; k += 1, rest >>= 1) {
        const matrix = doublings[k];
        if ((rest & 1) === 1 && matrix !== undefined) step(matrix);
      }
    },
    learn({ up, down, struck = 0 }) {
      const [single] = doublings;
      if (struck === 0 || single === undefined) {
        observeInPlace(now, up, down);
        return;
      }
      // An event, not a likelihood: it can hit a pool that was certainly up, which no likelihood could bring
      // down.
      observeInPlace(advanceInto(other, now, single), 0, 1);
      for (let j = 0; j < now.length; j += 1)
        now[j] = (1 - struck) * (now[j] ?? 0) + struck * (other[j] ?? 0);
    },
    tilt(own, weight) {
      if (own !== undefined && weight > 0) observeInPlace(now, own.up ** weight, own.down ** weight);
    },
    belief: () => now.slice(),
  };
}
