/**
 * A belief on its way through what was seen, by the rules of policy/regimes.ts, in two arrays that are used in turn: a
 * placement takes ten thousand of these steps, and the garbage of a new array each was the longest part of some.
 */
import { advanceInto, type Belief, type Matrix, multiply, observeInPlace } from './regimes.ts';

/** What is learned at a moment, as likelihoods with capacity and without. */
export interface Lesson {
  readonly up: number;
  readonly down: number;
  /** A neighbour lost its capacity at that moment: the chance that the same befell this pool. */
  readonly struck?: number;
}

/** Likelihoods of a pool's long run by its own record. */
export type OwnShare = Pick<Lesson, 'up' | 'down'>;

export interface Chain {
  readonly start: Belief;
  /** One step of time to the powers 1, 2, 4, ... */
  readonly doublings: readonly Matrix[];
  /** One step of time to the powers 1 to 63, each made when it is first asked for. */
  readonly power: (steps: number) => Matrix | undefined;
}

const KEPT_BITS = 6;
const KEPT = 2 ** KEPT_BITS;

/** Between two sightings mostly minutes to hours pass, in one product then instead of one for each bit. */
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
  /** Towards the pool's own long run, with a weight from 0 to 1. */
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
      // No likelihood but an event: it may strike a pool that was surely well a moment before, which no likelihood
      // could make doubtful again.
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
