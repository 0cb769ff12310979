/**
 * The policy's belief about one Spot pool, tick by tick, in the states of the plan. A plan over hidden regimes would
 * assume that the regime is known from the next tick on, and would overvalue waiting. Only the belief is known, and our
 * actions do not change the market. So a long run of the chain was drawn once (bench/sim/write-lattice.ts), its beliefs
 * grouped by their forecasts, and transitions between groups counted; the plan is made over these groups.
 */

import { once } from '@tidewheel/kit/once.ts';
import { STEP_SECONDS } from '../belief/beliefs.ts';
import {
  advance,
  type Belief,
  chanceUp,
  fittedRegimes,
  longRun,
  type Matrix,
  observe,
  type RegimeTable,
  transition,
} from '../belief/regimes.ts';
import drawn from './lattice-600.json' with { type: 'json' };
import type { MarketBelief, StateChance } from './value-function.ts';

/** A drawn lattice as plain data. */
export interface LatticeData {
  /** Name of the table that it was drawn from. */
  readonly table: string;
  readonly tickSeconds: number;
  readonly centresUp: readonly (readonly number[])[];
  readonly centresDown: readonly (readonly number[])[];
  readonly step: Matrix;
}

const LASTING_HOURS = 12;

export type MarketModel = Readonly<ReturnType<typeof marketModel>>;

export function marketModel(table: RegimeTable, drawn: LatticeData) {
  const { tickSeconds } = drawn;
  const step = transition(table, tickSeconds / 3_600);
  const forecast = forecaster(step);
  const located = (belief: Belief): number => groupOf(drawn, chanceUp(belief) > 0.5, forecast(belief));
  const longestTicks = Math.round((LASTING_HOURS * 3_600) / tickSeconds);
  const stays = staysByRegime(step, longestTicks);
  const half = stays.length / 2;
  const mean = (belief: Belief, isOf: (regime: number) => boolean): number =>
    belief.reduce((sum, share, j) => sum + (isOf(j) ? share * (stays[j] ?? 0) : 0), 0);
  return {
    tickSeconds,
    lattice: { upStates: drawn.centresUp.length, step: drawn.step },
    /** Before any observation. */
    start: longRun(table),
    /** One tick later, before that tick is observed. */
    ahead: (belief: Belief): Belief => advance(belief, step),
    /** Chances of the plan's states in the next tick: of one with capacity, and of one without. */
    weights(belief: Belief): readonly StateChance[] {
      const next = advance(belief, step);
      const up = chanceUp(next);
      const there = up > 1e-9 ? [{ state: located(observe(next, 1, 0)), chance: up }] : [];
      const gone = up < 1 - 1e-9 ? [{ state: located(observe(next, 0, 1)), chance: 1 - up }] : [];
      return [...there, ...gone];
    },
    /** Expected ticks that capacity will last from here, 0 without it, at most half a day (`longestTicks`). */
    lastingTicks: (belief: Belief): number => mean(belief, (j) => j < half),
    /** The same of its absence. */
    goneTicks: (belief: Belief): number => mean(belief, (j) => j >= half),
    longestTicks,
  };
}

/** Without the chances of a change between capacity and none. */
const sameSide = (step: Matrix): Matrix =>
  step.map((row, i) => row.map((share, j) => (i < step.length / 2 === j < step.length / 2 ? share : 0)));

const apply = (matrix: Matrix, values: readonly number[]): number[] =>
  matrix.map((row) => row.reduce((sum, share, j) => sum + share * (values[j] ?? 0), 0));

/** Expected ticks from each regime until capacity comes or goes, with an upper bound. */
function staysByRegime(step: Matrix, ticks: number): readonly number[] {
  const staying = sameSide(step);
  let alive = step.map(() => 1);
  let total = step.map(() => 0);
  for (let tick = 0; tick < ticks; tick += 1) {
    alive = apply(staying, alive);
    total = total.map((sum, j) => sum + (alive[j] ?? 0));
  }
  return total;
}

/** The group that a belief about a seen tick belongs to. */
export const groupOf = (
  { centresUp, centresDown }: Pick<LatticeData, 'centresUp' | 'centresDown'>,
  up: boolean,
  point: readonly number[],
): number => (up ? nearestCentre(centresUp, point) : centresUp.length + nearestCentre(centresDown, point));

/** How many ticks ahead beliefs are compared by. */
const HORIZONS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144] as const;

/**
 * The forecast of a belief: how likely the present spell lasts, and how likely there is capacity, for each horizon.
 */
export function forecaster(step: Matrix): (belief: Belief) => number[] {
  const half = step.length / 2;
  const staying = sameSide(step);
  const table: number[][] = step.map(() => []);
  let lasting: number[] = step.map(() => 1);
  let capacity = step.map<number>((_, j) => (j < half ? 1 : 0));
  for (let tick = 1; tick <= Math.max(...HORIZONS); tick += 1) {
    lasting = apply(staying, lasting);
    capacity = apply(step, capacity);
    if (!HORIZONS.some((each) => each === tick)) continue;
    for (const [j, row] of table.entries()) row.push(lasting[j] ?? 0, capacity[j] ?? 0);
  }
  return (belief) => {
    const out = HORIZONS.flatMap(() => [0, 0]);
    for (const [j, share] of belief.entries()) {
      if (share < 1e-12) continue;
      const row = table[j] ?? [];
      for (let k = 0; k < out.length; k += 1) out[k] = (out[k] ?? 0) + share * (row[k] ?? 0);
    }
    return out;
  };
}

export type Point = readonly number[];

export function distance(a: Point, b: Point): number {
  let sum = 0;
  for (let k = 0; k < a.length; k += 1) sum += ((a[k] ?? 0) - (b[k] ?? 0)) ** 2;
  return sum;
}

export function nearestCentre(centres: readonly Point[], point: Point): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let k = 0; k < centres.length; k += 1) {
    const gap = distance(point, centres[k] ?? []);
    if (gap < least) {
      least = gap;
      best = k;
    }
  }
  return best;
}

// Turns the belief about a pool into the states of the policy's plans: the simulator's chain, in ticks of ten minutes.

/** Seconds of a tick of the policy. */
export const TICK_SECONDS = STEP_SECONDS;

/** Computed at its first use: it takes 90 ms, and most functions import a rule that may need it. */
export const market = /* @__PURE__ */ once(() => marketModel(fittedRegimes, drawn));

/** Every plan asks for the belief of the same pools. */
const observedBeliefs = new WeakMap<Belief, MarketBelief>();

export function marketBeliefOf(belief: Belief): MarketBelief {
  const known = observedBeliefs.get(belief);
  if (known !== undefined) return known;
  const observed = {
    chance: chanceUp(belief),
    ifThere: market().weights(observe(belief, 1, 0)),
    ifNot: market().weights(observe(belief, 0, 1)),
  };
  observedBeliefs.set(belief, observed);
  return observed;
}
