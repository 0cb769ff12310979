/** Hands windows out to threads, those that one plan serves together, and puts what comes back into their order. */
import { Worker } from 'node:worker_threads';
import { rowsFor } from '../../packages/placement/policy/plan-layer.ts';
import type { Terms } from '../../packages/placement/policy/plan-pass.ts';
import {
  debtsOf,
  type Horizon,
  type PlanOptions,
  reachOf,
} from '../../packages/placement/policy/value-function.ts';
import type { Setting } from '../../test/support/market/job.ts';
import type { Row } from './rate.ts';
import { together } from './short-ticks.ts';
import { planKey, termsOf } from './tidewheel.ts';
import { settingOf, type Window } from './windows.ts';
import { LATTICE_OPTIONS } from './write-lattice.ts';

export interface Task {
  readonly folder: string;
  readonly policies: readonly string[];
  readonly threads: number;
}

/** No row depends on the other windows: the same come out alone, in another order or on more threads. */
export async function rateWindows(windows: readonly Window[], task: Task): Promise<Row[]> {
  const waiting = sharesOf(windows, task);
  const rows = new Map<Window, Row[]>();
  const thread = async (): Promise<void> => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: { folder: task.folder, policies: task.policies },
    });
    try {
      for (let share = waiting.shift(); share !== undefined; share = waiting.shift()) {
        const rated = await rateShare(worker, share);
        const each = task.policies.length;
        for (const [k, window] of share.entries()) rows.set(window, rated.slice(k * each, (k + 1) * each));
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(task.threads, waiting.length) }, thread));
  return windows.flatMap((window) => rows.get(window) ?? []);
}

/** The most work first, so that no thread is left alone with much at the end. */
export function sharesOf(
  windows: readonly Window[],
  { folder, threads }: Omit<Task, 'policies'>,
): Window[][] {
  const groups = Map.groupBy(windows, (window) => planKey(settingOf(folder, window)));
  const size = Math.ceil(windows.length / threads);
  const shares = [...groups.values()]
    .flatMap((each) => inOnePlan(each, folder))
    .flatMap((group) =>
      Array.from({ length: Math.ceil(group.length / size) }, (_, k) => group.slice(k * size, (k + 1) * size)),
    );
  return shares.toSorted((a, b) => workOf(b) - workOf(a));
}

const MOST_PLAN_BYTES = 4e9;
/** As the controller plans. */
const PLAN_OPTIONS = { cellsPerTick: 4 };
const GROUPS = { up: LATTICE_OPTIONS.groupsPerSide, down: LATTICE_OPTIONS.groupsPerSide };

/** Of one plan for all those settings, whose terms are the same. */
export const planBytes = (settings: readonly Setting[]): number => {
  const [first, ...others] = settings.map((each) => together(each).setting);
  return first === undefined ? 0 : tableBytes(GROUPS, termsOf(first), [first, ...others], PLAN_OPTIONS);
};

/** More ticks than any plan is made of: no table is counted beyond. */
const MOST_TICKS = 1e6;

/**
 * Bytes of such a table's values, before it is made.
 * @param groups of the market, with capacity and without
 */
function tableBytes(
  groups: { readonly up: number; readonly down: number },
  { tickSeconds, restartSeconds }: Terms,
  horizons: readonly Horizon[],
  { cellsPerTick }: PlanOptions,
): number {
  const ticks = Math.max(...horizons.map(({ deadlineSeconds }) => deadlineSeconds)) / tickSeconds;
  if (ticks + restartSeconds / tickSeconds > MOST_TICKS) return Number.POSITIVE_INFINITY;
  const debts = debtsOf({ tickSeconds, restartSeconds });
  const { count } = rowsFor({ upStates: groups.up, states: groups.up + groups.down }, debts);
  const cells = reachOf(horizons, tickSeconds, tickSeconds / cellsPerTick);
  const width = cells.reduce(
    (sum, most, left) => sum + Math.min(Math.max(0, most), left * cellsPerTick) + 1,
    0,
  );
  return width * count * Float32Array.BYTES_PER_ELEMENT;
}

/** Windows that each fit may need a plan together that does not. */
function inOnePlan(group: readonly Window[], folder: string): readonly (readonly Window[])[] {
  const byJob = Map.groupBy(group, ({ workHours, deadlineHours }) => `${workHours} ${deadlineHours}`);
  const parts: { readonly windows: Window[]; readonly settings: Setting[] }[] = [];
  for (const alike of byJob.values()) {
    const settings = alike.slice(0, 1).map((window) => settingOf(folder, window));
    const last = parts.at(-1);
    if (last === undefined || planBytes([...last.settings, ...settings]) > MOST_PLAN_BYTES)
      parts.push({ windows: [...alike], settings });
    else {
      last.windows.push(...alike);
      last.settings.push(...settings);
    }
  }
  return parts.map(({ windows }) => windows);
}

const workOf = (share: readonly Window[]): number => share.reduce((sum, { ticks }) => sum + ticks, 0);

function rateShare(worker: Worker, share: readonly Window[]): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const done = (rows: Row[]): void => {
      worker.off('error', reject);
      resolve(rows);
    };
    worker.once('message', done).once('error', reject);
    worker.postMessage(share);
  });
}
