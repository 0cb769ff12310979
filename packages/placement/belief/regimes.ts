/**
 * How Spot capacity comes and goes: a hidden Markov chain of regimes, some with capacity and some without. Spells are
 * far from memoryless: a pool that has been up for ten hours is lost ten times less often than a fresh one. A few
 * regimes with very different mean durations model that. Only capacity is observed; the regime is a belief.
 */

import fitted from './regimes.json' with { type: 'json' };

/** Rates per hour between regimes, rows from, columns to, diagonal 0; the first half have capacity. */
export interface RegimeTable {
  readonly name: string;
  readonly ratesPerHour: readonly (readonly number[])[];
}

/** Probability of each regime; sums to 1. */
export type Belief = readonly number[];

export const fittedRegimes: RegimeTable = { name: fitted.name, ratesPerHour: fitted.ratesPerHour };

/** The number of regimes with capacity. */
const upCount = (table: RegimeTable): number => table.ratesPerHour.length / 2;

export type Matrix = readonly (readonly number[])[];

export const multiply = (a: Matrix, b: Matrix): number[][] =>
  a.map((row) => b.map((_, j) => row.reduce((sum, value, k) => sum + value * (b[k]?.[j] ?? 0), 0)));

/** exp(rates x hours), by scaling and squaring: the chance of each regime after that time. */
export function transition(table: RegimeTable, hours: number): number[][] {
  const squarings = 10;
  const scaled = table.ratesPerHour.map((row, i) => {
    const leaving = row.reduce((sum, rate) => sum + rate, 0);
    return row.map((rate, j) => ((i === j ? -leaving : rate) * hours) / 2 ** squarings);
  });
  let term: number[][] = scaled.map((row, i) => row.map((_, j) => (i === j ? 1 : 0)));
  let result = term;
  for (let k = 1; k < 12; k += 1) {
    term = multiply(term, scaled).map((row) => row.map((value) => value / k));
    result = result.map((row, i) => row.map((value, j) => value + (term[i]?.[j] ?? 0)));
  }
  for (let k = 0; k < squarings; k += 1) result = multiply(result, result);
  return result;
}

/** `abundance` is a factor on the return of capacity, and its inverse on the loss; `speed` is one on every rate. */
export function withRates(table: RegimeTable, abundance: number, speed: number): RegimeTable {
  const half = upCount(table);
  const across = (isUp: boolean): number => (isUp ? 1 / abundance : abundance);
  const ratesPerHour = table.ratesPerHour.map((row, from) =>
    row.map((rate, to) => rate * speed * (from < half === to < half ? 1 : across(from < half))),
  );
  return { ...table, ratesPerHour };
}

/** One step of time: belief x transition. */
export const advance = (belief: Belief, step: Matrix): number[] =>
  advanceInto(
    belief.map(() => 0),
    belief,
    step,
  );

/** The same into an existing array: a placement takes this step a hundred thousand times. */
function advanceInto(next: number[], belief: Belief, step: Matrix): number[] {
  next.fill(0);
  // An index loop, for the same reason.
  for (let i = 0; i < belief.length; i += 1) {
    const share = belief[i] ?? 0;
    if (share < 1e-15) continue;
    const row = step[i] ?? [];
    for (let j = 0; j < next.length; j += 1) next[j] = (next[j] ?? 0) + share * (row[j] ?? 0);
  }
  return next;
}

/** The long-run share of each regime: the belief about a pool without observations. */
export function longRun(table: RegimeTable): number[] {
  let step = transition(table, 1);
  for (let k = 0; k < 20; k += 1) step = multiply(step, step);
  const uniform = table.ratesPerHour.map(() => 1 / table.ratesPerHour.length);
  return normalise(advance(uniform, step));
}

/**
 * Bayes' rule, given the likelihood of an observation with and without capacity. A certain observation is (1, 0) or
 * (0, 1); a placement score or news of a neighbouring pool lies between.
 */
export const observe = (belief: Belief, likelihoodUp: number, likelihoodDown: number): number[] =>
  observeInPlace(belief.slice(), likelihoodUp, likelihoodDown);

/** The same in place; returns the array. */
function observeInPlace(belief: number[], likelihoodUp: number, likelihoodDown: number): number[] {
  const half = belief.length / 2;
  const likelihood = (j: number): number => (j < half ? likelihoodUp : likelihoodDown);
  let total = 0;
  for (let j = 0; j < belief.length; j += 1) {
    const weighed = (belief[j] ?? 0) * likelihood(j);
    belief[j] = weighed;
    total += weighed;
  }
  // The observation was believed impossible: start again, evenly over the regimes that agree with it.
  if (total <= 1e-12) {
    for (let j = 0; j < belief.length; j += 1) belief[j] = likelihood(j);
    total = half * (likelihoodUp + likelihoodDown);
  }
  for (let j = 0; j < belief.length; j += 1)
    belief[j] = total > 0 ? (belief[j] ?? 0) / total : 1 / belief.length;
  return belief;
}

export const chanceUp = (belief: Belief): number =>
  belief.slice(0, belief.length / 2).reduce((sum, share) => sum + share, 0);

/** Mean hours until capacity (0 for regimes that have it) and until its loss (0 for those without), by regime. */
export function meanPassageHours(table: RegimeTable): { readonly toUp: number[]; readonly toDown: number[] } {
  const half = upCount(table);
  const within = (from: number, to: number): number[] => {
    const hours = table.ratesPerHour.map(() => 0);
    // Gauss-Seidel on h_i x leaving_i = 1 + sum over the same side of rate_ij x h_j; the side is always left in the end.
    for (let sweep = 0; sweep < 500; sweep += 1) {
      for (let i = from; i < to; i += 1) {
        const row = table.ratesPerHour[i] ?? [];
        const leaving = row.reduce((sum, rate) => sum + rate, 0);
        const staying = row.slice(from, to).reduce((sum, rate, k) => sum + rate * (hours[from + k] ?? 0), 0);
        hours[i] = leaving > 0 ? (1 + staying) / leaving : 1e6;
      }
    }
    return hours;
  };
  return { toUp: within(half, 2 * half), toDown: within(0, half) };
}

function normalise(values: readonly number[]): number[] {
  const total = values.reduce((sum, value) => sum + value, 0);
  return values.map((value) => (total > 0 ? value / total : 1 / values.length));
}

// Advances a belief through observations by these rules, in two arrays used alternately. A placement takes
// ten thousand of these steps, and collecting a new array for each took longer than the steps.

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

/** What was believed impossible leaves something to compare. */
const LEAST_LIKELIHOOD = 1e-6;

export function beginWalk({ start, doublings, power }: Chain) {
  let now = start.slice();
  let other = start.slice();
  let logLikelihood = 0;
  const step = (matrix: Matrix): void => {
    advanceInto(other, now, matrix);
    [now, other] = [other, now];
  };
  return {
    pass(steps: number): void {
      const few = steps % KEPT;
      const kept = few > 0 ? power(few) : undefined;
      if (kept !== undefined) step(kept);
      for (let k = KEPT_BITS, rest = steps >> KEPT_BITS; rest > 0; k += 1, rest >>= 1) {
        const matrix = doublings[k];
        if ((rest & 1) === 1 && matrix !== undefined) step(matrix);
      }
    },
    learn({ up, down, struck = 0 }: Lesson): void {
      const [single] = doublings;
      const there = chanceUp(now);
      if (struck === 0)
        logLikelihood += Math.log(Math.max(LEAST_LIKELIHOOD, up * there + down * (1 - there)));
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
    /** Moves the belief towards the pool's own long-run share, with a weight from 0 to 1. */
    tilt(own: OwnShare | undefined, weight: number): void {
      if (own !== undefined && weight > 0) observeInPlace(now, own.up ** weight, own.down ** weight);
    },
    belief: (): Belief => now.slice(),
    /** How likely the chain made what was learnt; only the difference to another chain's says anything. */
    logLikelihood: (): number => logLikelihood,
  };
}
