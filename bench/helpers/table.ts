/** The table of `npm run measure:helpers`. */
import * as z from 'zod';
import { markdownTable } from '../../cli/recipes/table.ts';
import { forecastWith, published } from './forecast.ts';

/** What `training/measure/measure_helpers.py` prints of one training. */
export const runSchema = z.object({
  helpers: z.number().int(),
  prepare_here: z.boolean(),
  accelerator_seconds: z.number(),
  steps: z.number().int(),
  step_seconds: z.number(),
  accelerator_use: z.number(),
  cpu_use: z.array(z.number()),
  cpu_seconds_per_step: z.number(),
  slowdown: z.number(),
});
export type Run = z.output<typeof runSchema>;

/** All runs of one cell: the same helpers, who prepares, and accelerator. */
export type Cell = readonly Run[];

const HEAD = [
  'accelerator, s a step',
  'helpers',
  'who prepares',
  'step, s (of all runs)',
  'gain',
  'placement forecasts, s (9 of 10)',
  'its gain',
  'CPU s a step',
];

/** The middle one; of an even number the lower of the two. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;

/** Each cell beside the forecast from the runs without helpers and with the same accelerator. */
export function tableOf(cells: readonly Cell[]): string {
  const { without, measured, forecast } = published();
  const rows = cells.filter((cell) => cell.length > 0).map((cell) => rowOf(cell, cells));
  const aws = [
    "AWS's benchmark",
    '2 c5.18xlarge',
    'published',
    `${measured} (${without} without)`,
    times(without / measured),
    forecast.toFixed(3),
    times(without / forecast),
    '',
  ];
  return markdownTable(HEAD, [...rows, aws]);
}

function rowOf(cell: Cell, cells: readonly Cell[]): readonly string[] {
  const [first] = cell;
  if (first === undefined) return [];
  const seconds = cell.map(({ step_seconds }) => step_seconds);
  const step = median(seconds);
  const alone = cells
    .flat()
    .filter((run) => run.helpers === 0 && run.accelerator_seconds === first.accelerator_seconds);
  const before = median(alone.map(({ step_seconds }) => step_seconds));
  const own = [
    String(first.accelerator_seconds),
    String(first.helpers),
    whoPrepares(first),
    `${step.toFixed(3)} (${Math.min(...seconds).toFixed(3)} to ${Math.max(...seconds).toFixed(3)})`,
  ];
  const cpu = median(cell.map(({ cpu_seconds_per_step }) => cpu_seconds_per_step)).toFixed(3);
  if (first.helpers === 0 || alone.length === 0) return [...own, '', '', '', cpu];
  const said = forecastWith(first.helpers, {
    stepSeconds: before,
    steps: alone.reduce((sum, { steps }) => sum + steps, 0),
    acceleratorUse: median(alone.map(({ accelerator_use }) => accelerator_use)),
    cpuUse: Math.min(1, median(alone.map(({ cpu_use: [leader = 0] }) => leader))),
  });
  const reach = `${said.lowSeconds.toFixed(3)} to ${said.highSeconds.toFixed(3)}`;
  const forecast = `${said.stepSeconds.toFixed(3)} (${reach})`;
  return [...own, times(before / step), forecast, times(before / said.stepSeconds), cpu];
}

const times = (gain: number): string => `${gain.toFixed(2)} x`;

function whoPrepares({ helpers, prepare_here: here }: Run): string {
  if (helpers === 0) return 'the host that trains';
  return here ? 'all hosts' : 'the helpers alone';
}
