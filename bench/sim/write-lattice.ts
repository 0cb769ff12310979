/**
 * Draws the groups of beliefs over which a plan is made (packages/placement/policy/market-model.ts): a long run of the
 * chain, its beliefs around centres by k-means++, and the counted transitions between them. The same draws give the same
 * lattice. `node bench/sim/write-lattice.ts` writes the one that `place` uses, of ten-minute ticks.
 */

import { writeFileSync } from 'node:fs';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
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
} from '../../packages/placement/belief/regimes.ts';
import {
  distance,
  forecaster,
  groupOf,
  type LatticeData,
  nearestCentre,
  type Point,
} from '../../packages/placement/policy/market-model.ts';

/** Groups with capacity, and as many without. */
const GROUPS_PER_SIDE = 16;
const DRAWN_TICKS = 60_000;
const SEED = 7;
const POINTS_PER_SIDE = 6_000;
const ROUNDS = 25;

export function drawLattice(table: RegimeTable, tickSeconds: number): LatticeData {
  const step = transition(table, tickSeconds / 3_600);
  const forecast = forecaster(step);
  const draw = seededUniform(SEED);
  const run = drawBeliefs(longRun(table), step, draw).map((belief) => ({
    up: chanceUp(belief) > 0.5,
    point: forecast(belief),
  }));
  const centresOf = (up: boolean): number[][] => {
    const points = run.filter((each) => each.up === up).map(({ point }) => point);
    const stride = Math.max(1, Math.floor(points.length / POINTS_PER_SIDE));
    const some = points.filter((_, k) => k % stride === 0);
    return clusterCentres(some, draw);
  };
  const centres = { centresUp: centresOf(true), centresDown: centresOf(false) };
  const groups = run.map(({ up, point }) => groupOf(centres, up, point));
  const states = centres.centresUp.length + centres.centresDown.length;
  return { table: table.name, tickSeconds, ...centres, step: countSteps(groups, states) };
}

/** The beliefs of an observer of the chain, tick by tick. */
function drawBeliefs(start: Belief, step: Matrix, draw: () => number): Belief[] {
  const run: Belief[] = [];
  let expected: Belief = start;
  for (let tick = 0; tick < DRAWN_TICKS; tick += 1) {
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

function clusterCentres(points: readonly Point[], draw: () => number): number[][] {
  let centres = spreadSeeds(points, draw);
  for (let round = 0; round < ROUNDS; round += 1) centres = recentre(points, centres);
  return centres;
}

/** Draws each next seed with probability proportional to the square of its distance from the others. */
function spreadSeeds(points: readonly Point[], draw: () => number): number[][] {
  const first = points[Math.floor(draw() * points.length)];
  if (!first) return [];
  const centres: number[][] = [[...first]];
  const gaps = points.map(() => Number.POSITIVE_INFINITY);
  while (centres.length < Math.min(GROUPS_PER_SIDE, points.length)) {
    const newest = centres.at(-1) ?? [];
    let total = 0;
    for (const [k, point] of points.entries()) {
      gaps[k] = Math.min(gaps[k] ?? 0, distance(point, newest));
      total += gaps[k] ?? 0;
    }
    if (total <= 1e-12) break;
    let rest = draw() * total;
    const next = points.findIndex((_, k) => (rest -= gaps[k] ?? 0) <= 0);
    centres.push([...(points[next < 0 ? points.length - 1 : next] ?? [])]);
  }
  return centres;
}

function recentre(points: readonly Point[], centres: readonly Point[]): number[][] {
  const sums = centres.map((centre) => centre.map(() => 0));
  const counts = centres.map(() => 0);
  for (const point of points) {
    const k = nearestCentre(centres, point);
    counts[k] = (counts[k] ?? 0) + 1;
    const sum = sums[k] ?? [];
    for (let i = 0; i < sum.length; i += 1) sum[i] = (sum[i] ?? 0) + (point[i] ?? 0);
  }
  return centres.map((centre, k) =>
    (counts[k] ?? 0) > 0 ? (sums[k] ?? []).map((v) => v / (counts[k] ?? 1)) : [...centre],
  );
}

const DIGITS = 5;

if (import.meta.main) {
  const file = new URL('../../packages/placement/policy/lattice-600.json', import.meta.url);
  const text = JSON.stringify(drawLattice(fittedRegimes, 600), (_key, value: unknown) =>
    typeof value === 'number' ? Number(value.toFixed(DIGITS)) : value,
  );
  writeFileSync(file, `${text}\n`);
  console.log(`${file.pathname}: ${text.length} characters`);
}
