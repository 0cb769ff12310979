/** The windows that a person lists in a file: all its faults are reported at once, before any replay. */

import { checkFields, readJsonFile } from '@tidewheel/emulators/shared/json-file.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { firstOf } from '@tidewheel/kit/validation.ts';
import { readTrace, traceProblems } from './traces.ts';
import { type Window, windowSchema } from './windows.ts';

/**
 * @throws UsageError with every problem: of the file, of each window's fields, of the traces that they name
 */
export function readWindows(folder: string, file: string): readonly Window[] {
  const refuse = (problems: readonly string[]): never => {
    throw new UsageError(firstOf(problems).map((problem) => `--windows ${file}: ${problem}`));
  };
  const content = readJsonFile(file);
  if (!content.ok) return refuse(content.problems);
  if (!Array.isArray(content.value) || content.value.length === 0)
    return refuse(['give a JSON array with one window or more']);
  const checked = content.value.map((each: unknown) => checkFields(windowSchema, each));
  const named = content.value.map((each: unknown, index) => nameOf(each, index));
  const fields = checked.flatMap((each, index) =>
    each.ok ? [] : each.problems.map((problem) => `${named[index]}: ${problem}`),
  );
  const windows = checked.flatMap((each, index) =>
    each.ok ? [{ window: each.value, name: named[index] ?? '' }] : [],
  );
  const traces = traceProblems(
    folder,
    windows.flatMap(({ window }) => window.zones.map(({ trace }) => trace)),
  );
  const problems = [...fields, ...repeatedIds(windows.map(({ window }) => window)), ...traces];
  if (traces.length === 0)
    problems.push(
      ...windows.flatMap(({ window, name }) => misfits(folder, window).map((each) => `${name}: ${each}`)),
    );
  return problems.length > 0 ? refuse(problems) : windows.map(({ window }) => window);
}

function nameOf(content: unknown, index: number): string {
  const id = typeof content === 'object' && content !== null && 'id' in content ? content.id : undefined;
  return typeof id === 'string' || typeof id === 'number'
    ? `window "${id}" ([${index}])`
    : `window [${index}]`;
}

/** Nothing else distinguishes the rows of the result. */
function repeatedIds(windows: readonly Window[]): readonly string[] {
  const byId = Map.groupBy(windows, ({ id }) => String(id));
  return [...byId]
    .filter(([, same]) => same.length > 1)
    .map(([id, same]) => `id is "${id}" in ${same.length} windows: give each its own`);
}

/** What does not fit between a window and its traces. */
function misfits(folder: string, { zones, ticks }: Window): readonly string[] {
  const traces = zones.map(({ trace }) => readTrace(folder, trace));
  const tickSeconds = traces[0]?.tickSeconds;
  return zones.flatMap(({ trace, startTick }, zone) => {
    const { capacity, tickSeconds: own } = traces[zone] ?? { capacity: [], tickSeconds };
    const problems: string[] = [];
    if (own !== tickSeconds)
      problems.push(
        `zones[${zone}].trace is "${trace}" with gap_seconds ${own}: take traces that all have ${tickSeconds}, as zones[0] has`,
      );
    if (startTick + ticks > capacity.length)
      problems.push(
        `zones[${zone}].startTick is ${startTick} and ticks ${ticks}: "${trace}" ends after tick ${capacity.length - 1}, ${
          ticks > capacity.length
            ? `give at most ${capacity.length} ticks`
            : `begin at ${capacity.length - ticks} at the latest`
        }`,
      );
    return problems;
  });
}
