/**
 * A belief on its way through what was seen, by the rules of policy/regimes.ts, in two arrays that are used in turn: a
 * placement takes ten thousand of these steps, and the garbage of a new array each was the longest part of some.
 */
import type { Belief, Matrix } from '../policy/regimes.ts';

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
}

export interface Walk {
  pass(steps: number): void;
  learn(lesson: Lesson): void;
  /** Towards the pool's own long run, with a weight from 0 to 1. */
  tilt(own: OwnShare | undefined, weight: number): void;
  belief(): Belief;
}

/** Row after row, by chain: written once, read by every walk. */
const flattened = new WeakMap<Chain, readonly Float64Array[]>();

function flatMatrices(chain: Chain): readonly Float64Array[] {
  const known = flattened.get(chain);
  if (known) return known;
  const made = chain.doublings.map((matrix) => Float64Array.from(matrix.flat()));
  flattened.set(chain, made);
  return made;
}

export function beginWalk(chain: Chain): Walk {
  const matrices = flatMatrices(chain);
  let now = Float64Array.from(chain.start);
  let other = new Float64Array(now.length);
  const step = (matrix: Float64Array): void => {
    advance(now, matrix, other);
    [now, other] = [other, now];
  };
  return {
    pass(steps) {
      for (let k = 0, rest = steps; rest > 0; k += 1, rest >>= 1) {
        const matrix = matrices[k];
        if ((rest & 1) === 1 && matrix !== undefined) step(matrix);
      }
    },
    learn({ up, down, struck = 0 }) {
      const single = matrices[0];
      if (struck === 0 || single === undefined) return observe(now, up, down);
      // No likelihood but an event: it may strike a pool that was surely well a moment before, which no likelihood
      // could make doubtful again.
      advance(now, single, other);
      observe(other, 0, 1);
      for (let j = 0; j < now.length; j += 1)
        now[j] = (1 - struck) * (now[j] ?? 0) + struck * (other[j] ?? 0);
    },
    tilt(own, weight) {
      if (own !== undefined && weight > 0) observe(now, own.up ** weight, own.down ** weight);
    },
    belief: () => Array.from(now),
  };
}

function advance(from: Float64Array, matrix: Float64Array, into: Float64Array): void {
  const states = from.length;
  into.fill(0);
  for (let i = 0; i < states; i += 1) {
    const share = from[i] ?? 0;
    if (share < 1e-15) continue;
    const row = i * states;
    for (let j = 0; j < states; j += 1) into[j] = (into[j] ?? 0) + share * (matrix[row + j] ?? 0);
  }
}

function observe(belief: Float64Array, up: number, down: number): void {
  const half = belief.length / 2;
  let total = 0;
  for (let j = 0; j < belief.length; j += 1) {
    const weighed = (belief[j] ?? 0) * (j < half ? up : down);
    belief[j] = weighed;
    total += weighed;
  }
  // What was seen was thought impossible: start again, evenly over the regimes that agree with it.
  const isImpossible = total <= 1e-12;
  if (isImpossible) total = half * (up + down);
  for (let j = 0; j < belief.length; j += 1) {
    const weighed = isImpossible ? (j < half ? up : down) : (belief[j] ?? 0);
    belief[j] = total > 0 ? weighed / total : 1 / belief.length;
  }
}
