/**
 * A plan over hidden regimes would assume that the regime is known from the next tick on, and would overvalue waiting.
 * Only the belief is known. Our actions do not change the market, so beliefs move by themselves. A long run of the
 * chain is therefore drawn, its beliefs are grouped by their forecasts, and transitions between groups are counted.
 * The plan is made over these groups, which are known for certain.
 */

import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import {
  advance,
  type Belief,
  chanceUp,
  longRun,
  observe,
  type RegimeTable,
  transition,
} from '../belief/regimes.ts';
import { clusterCentres, nearestCentre } from './cluster.ts';
import type { MarketChain } from './plan-pass.ts';

export interface Lattice extends MarketChain {
  /** The group that a belief about a seen tick belongs to. */
  locate(belief: Belief): number;
}

/** A drawn lattice as plain data, so that one can be shipped instead of being drawn at every cold start. */
export interface LatticeData {
  /** Name of the table that it was drawn from. */
  readonly table: string;
  readonly tickSeconds: number;
  readonly centresUp: readonly (readonly number[])[];
  readonly centresDown: readonly (readonly number[])[];
  readonly step: readonly (readonly number[])[];
}

export interface LatticeOptions {
  /** Groups with capacity, and as many without. */
  readonly groupsPerSide: number;
  readonly drawnTicks: number;
  readonly seed: number;
}

export const LATTICE_OPTIONS: LatticeOptions = { groupsPerSide: 16, drawnTicks: 60_000, seed: 7 };

/** How many ticks ahead beliefs are compared by. */
const HORIZONS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144] as const;
const POINTS_PER_SIDE = 6_000;
const ROUNDS = 25;

type Matrix = readonly (readonly number[])[];

export function drawLattice(table: RegimeTable, tickSeconds: number, options = LATTICE_OPTIONS): LatticeData {
  const step = transition(table, tickSeconds / 3_600);
  const forecast = forecaster(step);
  const draw = seededUniform(options.seed);
  const run = drawBeliefs(longRun(table), step, { ticks: options.drawnTicks, draw }).map((belief) => ({
    up: chanceUp(belief) > 0.5,
    point: forecast(belief),
  }));
  const centresOf = (up: boolean): number[][] => {
    const points = run.filter((each) => each.up === up).map(({ point }) => point);
    const stride = Math.max(1, Math.floor(points.length / POINTS_PER_SIDE));
    const some = points.filter((_, k) => k % stride === 0);
    return clusterCentres(some, options.groupsPerSide, { rounds: ROUNDS, draw });
  };
  const centres = { centresUp: centresOf(true), centresDown: centresOf(false) };
  const groups = run.map(({ up, point }) => groupOf(centres, up, point));
  const states = centres.centresUp.length + centres.centresDown.length;
  return { table: table.name, tickSeconds, ...centres, step: countSteps(groups, states) };
}

export function latticeOf(table: RegimeTable, data: LatticeData): Lattice {
  const forecast = forecaster(transition(table, data.tickSeconds / 3_600));
  return {
    upStates: data.centresUp.length,
    step: data.step,
    locate: (belief) => groupOf(data, chanceUp(belief) > 0.5, forecast(belief)),
  };
}

const groupOf = (
  { centresUp, centresDown }: Pick<LatticeData, 'centresUp' | 'centresDown'>,
  up: boolean,
  point: readonly number[],
): number => (up ? nearestCentre(centresUp, point) : centresUp.length + nearestCentre(centresDown, point));

/**
 * The forecast of a belief: how likely the present spell lasts, and how likely there is capacity, for each horizon.
 */
function forecaster(step: Matrix): (belief: Belief) => number[] {
  const half = step.length / 2;
  const sameSide = step.map((row, i) => row.map((share, j) => (i < half === j < half ? share : 0)));
  const table: number[][] = step.map(() => []);
  let lasting: number[] = step.map(() => 1);
  let capacity = step.map<number>((_, j) => (j < half ? 1 : 0));
  for (let tick = 1; tick <= Math.max(...HORIZONS); tick += 1) {
    lasting = apply(sameSide, lasting);
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

const apply = (matrix: Matrix, values: readonly number[]): number[] =>
  matrix.map((row) => row.reduce((sum, share, j) => sum + share * (values[j] ?? 0), 0));

/** The beliefs of an observer of the chain, tick by tick. */
function drawBeliefs(
  start: Belief,
  step: Matrix,
  { ticks, draw }: { readonly ticks: number; readonly draw: () => number },
): Belief[] {
  const run: Belief[] = [];
  let expected: Belief = start;
  for (let tick = 0; tick < ticks; tick += 1) {
    const up = draw() < chanceUp(expected);
    const belief = up ? observe(expected, 1, 0) : observe(expected, 0, 1);
    run.push(belief);
    expected = advance(belief, step);
  }
  return run;
}

function countSteps(groups: readonly number[], states: number): number[][] {
  const counts = Array.from({ length: states }, () => Array.from({ length: states }, () => 0));
  for (let tick = 1; tick < groups.length; tick += 1) {
    const row = counts[groups[tick - 1] ?? 0] ?? [];
    row[groups[tick] ?? 0] = (row[groups[tick] ?? 0] ?? 0) + 1;
  }
  return counts.map((row, state) => {
    const total = row.reduce((sum, count) => sum + count, 0);
    return total === 0 ? row.map((_, j) => (j === state ? 1 : 0)) : row.map((count) => count / total);
  });
}
