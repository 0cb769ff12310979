/** Hands windows out to threads, those that one plan serves together, and puts what comes back into their order. */
import { onThreads } from '../threads.ts';
import type { Row } from './rate.ts';
import { planKey } from './tidewheel.ts';
import { settingOf, type Window } from './windows.ts';

export interface Task {
  readonly folder: string;
  readonly policies: readonly string[];
  readonly threads: number;
}

/** No row depends on the other windows: the same come out alone, in another order or on more threads. */
export async function rateWindows(windows: readonly Window[], task: Task): Promise<Row[]> {
  const shares = sharesOf(windows, task);
  const { folder, policies, threads } = task;
  const rated = await onThreads<Row[]>(shares, {
    script: new URL('./worker.ts', import.meta.url),
    workerData: { folder, policies },
    threads,
  });
  const each = policies.length;
  const rows = new Map(
    shares.flatMap((share, s) =>
      share.map((window, k) => [window, rated[s]?.slice(k * each, (k + 1) * each) ?? []] as const),
    ),
  );
  return windows.flatMap((window) => rows.get(window) ?? []);
}

/** The most work first, so that no thread is left alone with much at the end; of one plan, the widest first. */
export function sharesOf(
  windows: readonly Window[],
  { folder, threads }: Omit<Task, 'policies'>,
): Window[][] {
  const groups = Map.groupBy(windows, (window) => planKey(settingOf(folder, window)));
  const size = Math.ceil(windows.length / threads);
  const slack = ({ workHours, deadlineHours }: Window): number => deadlineHours - workHours;
  const shares = [...groups.values()].flatMap((group) => {
    const widest = group.toSorted((a, b) => slack(b) - slack(a) || b.workHours - a.workHours);
    return Array.from({ length: Math.ceil(group.length / size) }, (_, k) =>
      widest.slice(k * size, (k + 1) * size),
    );
  });
  return shares.toSorted((a, b) => workOf(b) - workOf(a));
}

const workOf = (share: readonly Window[]): number => share.reduce((sum, { ticks }) => sum + ticks, 0);
