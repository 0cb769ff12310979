/** The policy's belief about one Spot pool, tick by tick, in the states of the plan. */

import {
  advance,
  type Belief,
  chanceUp,
  longRun,
  observe,
  type RegimeTable,
  transition,
} from '../belief/regimes.ts';
import { drawLattice, type Lattice, type LatticeData, latticeOf } from './lattice.ts';
import { type StateChance } from './value-function.ts';

export interface MarketModel {
  readonly tickSeconds: number;
  readonly lattice: Lattice;
  /** Before any observation. */
  readonly start: Belief;
  /** One tick later, before that tick is observed. */
  ahead(belief: Belief): Belief;
  /** Chances of the plan's states in the next tick: of one with capacity, and of one without. */
  weights(belief: Belief): readonly StateChance[];
  /** Expected ticks that capacity will last from here, 0 without it, at most half a day (`longestTicks`). */
  lastingTicks(belief: Belief): number;
  /** The same of its absence. */
  goneTicks(belief: Belief): number;
  readonly longestTicks: number;
}

const LASTING_HOURS = 12;

/** Without `drawn` the lattice is drawn, which takes about a second. */
export function marketModel(table: RegimeTable, tickSeconds: number, drawn?: LatticeData): MarketModel {
  const step = transition(table, tickSeconds / 3_600);
  const lattice = latticeOf(table, drawn ?? drawLattice(table, tickSeconds));
  const longestTicks = Math.round((LASTING_HOURS * 3_600) / tickSeconds);
  const stays = staysByRegime(step, longestTicks);
  const half = stays.length / 2;
  const mean = (belief: Belief, isOf: (regime: number) => boolean): number =>
    belief.reduce((sum, share, j) => sum + (isOf(j) ? share * (stays[j] ?? 0) : 0), 0);
  return {
    tickSeconds,
    lattice,
    start: longRun(table),
    ahead: (belief) => advance(belief, step),
    weights(belief) {
      const next = advance(belief, step);
      const up = chanceUp(next);
      const there = up > 1e-9 ? [{ state: lattice.locate(observe(next, 1, 0)), chance: up }] : [];
      const gone = up < 1 - 1e-9 ? [{ state: lattice.locate(observe(next, 0, 1)), chance: 1 - up }] : [];
      return [...there, ...gone];
    },
    lastingTicks: (belief) => mean(belief, (j) => j < half),
    goneTicks: (belief) => mean(belief, (j) => j >= half),
    longestTicks,
  };
}

/** Expected ticks from each regime until capacity comes or goes, with an upper bound. */
function staysByRegime(step: readonly (readonly number[])[], ticks: number): number[] {
  const half = step.length / 2;
  let alive = step.map(() => 1);
  const total = step.map(() => 0);
  for (let tick = 0; tick < ticks; tick += 1) {
    const before = alive;
    alive = step.map((row, i) =>
      row.reduce((sum, share, j) => sum + (j < half === i < half ? share * (before[j] ?? 0) : 0), 0),
    );
    for (const [j, chance] of alive.entries()) total[j] = (total[j] ?? 0) + chance;
  }
  return total;
}
