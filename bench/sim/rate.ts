/** Runs policies over cases and says how they did. */
import type { Action } from '../../packages/placement/policy/plan-pass.ts';
import { optimumUsd } from './optimum.ts';
import { type Case, openWindow, type Window } from './windows.ts';
import { type Outcome, type Strategy, simulate } from './world.ts';

/** One line of the JSON output: enough for any other simulator to replay the decisions. */
export interface Row {
  readonly id: string | number;
  readonly policy: string;
  readonly costUsd: number;
  /** null: no schedule ends in time. */
  readonly optimumUsd: number | null;
  readonly finishHours: number | null;
  readonly starts: number;
  /** One letter a tick: S on Spot, O on demand, I idle. */
  readonly actions: string;
  readonly zoneIndex: readonly number[];
}

const LETTERS = ['I', 'S', 'O'] as const;
const lettersOf = (actions: readonly Action[]): string => actions.map((action) => LETTERS[action]).join('');

export function rateWindow(folder: string, window: Window, strategies: readonly Strategy[]): Row[] {
  const opened: Case = openWindow(folder, window);
  const optimum = optimumUsd(opened.setting, opened.zones);
  return strategies.map((strategy) => {
    const outcome = simulate(strategy, opened.setting, opened.zones);
    return rowOf(window, strategy.name, Number.isFinite(optimum) ? optimum : null, outcome);
  });
}

const rowOf = (window: Window, policy: string, optimum: number | null, outcome: Outcome): Row => ({
  id: window.id,
  policy,
  costUsd: outcome.costUsd,
  optimumUsd: optimum,
  finishHours: Number.isFinite(outcome.finishSeconds) ? outcome.finishSeconds / 3_600 : null,
  starts: outcome.starts,
  actions: lettersOf(outcome.actions),
  zoneIndex: outcome.zones,
});

export interface Summary {
  readonly policy: string;
  readonly runs: number;
  readonly meanUsd: number;
  readonly mean: number;
  readonly median: number;
  readonly p95: number;
  readonly worst: number;
  readonly late: number;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = Math.floor(position);
  const low = sorted[below] ?? Number.NaN;
  return low + ((sorted[below + 1] ?? low) - low) * (position - below);
}

/** Ratios to the optimum; a window that no schedule can meet counts in no ratio and not as late. */
export function summarise(
  policy: string,
  rows: readonly Row[],
  deadlines: ReadonlyMap<Row['id'], number>,
): Summary {
  const own = rows.filter((row) => row.policy === policy && row.optimumUsd !== null);
  const ratios = own.map((row) => row.costUsd / (row.optimumUsd ?? Number.NaN));
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    policy,
    runs: own.length,
    meanUsd: mean(own.map(({ costUsd }) => costUsd)),
    mean: mean(ratios),
    median: quantile(ratios, 0.5),
    p95: quantile(ratios, 0.95),
    worst: Math.max(...ratios),
    late: own.filter(
      (row) => (row.finishHours ?? Number.POSITIVE_INFINITY) > (deadlines.get(row.id) ?? 0) + 1e-9,
    ).length,
  };
}
