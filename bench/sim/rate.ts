/** Runs policies over cases and says how they did. */
import type { Action } from '../../packages/placement/policy/plan-pass.ts';
import { optimumUsd } from './optimum.ts';
import { capacityIn, settingOf, type Window } from './windows.ts';
import { type Strategy, simulate } from './world.ts';

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
  const [setting, zones] = [settingOf(folder, window), capacityIn(folder, window)];
  const optimum = optimumUsd(setting, zones);
  return strategies.map((strategy) => {
    const { costUsd, finishSeconds, starts, actions, zones: visited } = simulate(strategy, setting, zones);
    return {
      id: window.id,
      policy: strategy.name,
      costUsd,
      optimumUsd: Number.isFinite(optimum) ? optimum : null,
      finishHours: Number.isFinite(finishSeconds) ? finishSeconds / 3_600 : null,
      starts,
      actions: lettersOf(actions),
      zoneIndex: visited,
    };
  });
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = Math.floor(position);
  const low = sorted[below] ?? Number.NaN;
  return low + ((sorted[below + 1] ?? low) - low) * (position - below);
}

/** Ratios to the optimum; a window that no schedule can meet counts in no ratio and not as late. */
export function summarise(policy: string, rows: readonly Row[], deadlines: ReadonlyMap<Row['id'], number>) {
  const own = rows.filter((row) => row.policy === policy && row.optimumUsd !== null);
  const ratios = own.map((row) => row.costUsd / (row.optimumUsd ?? Number.NaN));
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
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
