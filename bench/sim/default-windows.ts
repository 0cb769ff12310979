/** Windows over every trace of a folder, for when no file of windows is given. */
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { firstOf } from '@tidewheel/kit/validation.ts';
import { readTrace, traceProblems } from './traces.ts';
import type { Window } from './windows.ts';

export interface CutOptions {
  readonly workHours: number;
  readonly deadlineHours: readonly number[];
  readonly restartHours: readonly number[];
  readonly onDemandPrice: number;
  readonly spotPrice: number;
  readonly nodes: number;
  /** Hours between the starts of two windows of one trace. */
  readonly everyHours: number;
  /** One window over all traces of a folder that fit together, instead of one for each. */
  readonly multiZone: boolean;
}

/** @throws UsageError when there is no trace, with every problem of those that cannot be read */
export function cutWindows(folder: string, options: CutOptions): Window[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.json'))
    .toSorted();
  if (paths.length === 0)
    throw new UsageError([`there is no trace under ${folder}: name the folder that holds the .json files`]);
  const problems = traceProblems(folder, paths);
  if (problems.length > 0) throw new UsageError(firstOf(problems));
  return groupsOf(folder, paths, options.multiZone).flatMap((group) => windowsOf(folder, group, options));
}

function groupsOf(
  folder: string,
  paths: readonly string[],
  multiZone: boolean,
): readonly (readonly string[])[] {
  if (!multiZone) return paths.map((path) => [path]);
  const groups = Map.groupBy(paths, (path) => {
    const { tickSeconds, capacity } = readTrace(folder, path);
    return `${dirname(path)} ${tickSeconds} ${capacity.length}`;
  });
  return [...groups.values()].filter((group) => group.length > 1);
}

function windowsOf(folder: string, group: readonly string[], options: CutOptions): Window[] {
  const traces = group.map((path) => readTrace(folder, path));
  const tickSeconds = traces[0]?.tickSeconds ?? 600;
  const length = Math.min(...traces.map(({ capacity }) => capacity.length));
  const every = Math.max(1, Math.round((options.everyHours * 3_600) / tickSeconds));
  return options.deadlineHours.flatMap((deadlineHours) => {
    const ticks = Math.ceil((deadlineHours * 3_600) / tickSeconds) + 1;
    const starts = Array.from(
      { length: Math.max(0, Math.floor((length - ticks) / every) + 1) },
      (_, k) => k * every,
    );
    return starts.flatMap((startTick) =>
      options.restartHours.map((restartHours) => ({
        id: `${group.length > 1 ? `${dirname(group[0] ?? '')} (${group.length})` : group[0]}@${startTick}/${deadlineHours}/${restartHours}`,
        zones: group.map((trace) => ({ trace, startTick, spotPrice: options.spotPrice })),
        ticks,
        onDemandPrice: options.onDemandPrice,
        nodes: options.nodes,
        workHours: options.workHours,
        deadlineHours,
        restartHours,
      })),
    );
  });
}
