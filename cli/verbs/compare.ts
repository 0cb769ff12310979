/** `tidewheel compare`: runs side by side. */
import { UsageError } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import type { AnswerOf } from '../../client/operations.ts';
import { safe, tableText } from '../command/format.ts';
import { runMeant } from '../command/run-list.ts';
import { defineVerb, option } from '../command/verb.ts';

export const verb = defineVerb({
  name: 'compare',
  summary: 'show runs side by side: samples a second, dollars, utilisation',
  about: `
Samples, steps and utilisation are those that the agents measured (docs/doctor.md). Dollars of a million samples are at
the price that was paid. The cost to the same metric is what each run had paid when it first reached the value that all
of them reached.`,
  positionals: ['RUN...'],
  options: {
    metric: option(
      'NAME',
      'a series of the runs; default: one that all have, a loss first',
      z.string().min(1).optional(),
    ),
  },
  check: (positionals) => (positionals.length < 2 ? ['name two runs or more'] : []),
  examples: [
    ['digits-000041 digits-000042', 'two runs'],
    ['ps-000003 mpi-000003 --metric accuracy', 'by a metric'],
  ],
  web: async ({ values: { metric }, positionals }, context) => {
    const runs = await Promise.all(positionals.map((given) => runMeant(context, given)));
    return `/compare?${new URLSearchParams({ runs: runs.join(','), ...(metric !== undefined && { series: metric }) }).toString()}`;
  },
  run: async ({ values, positionals }, context) => {
    const runs: string[] = [];
    for (const given of positionals) runs.push(await runMeant(context, given));
    const twice = runs.find((runId, place) => runs.indexOf(runId) !== place);
    if (twice !== undefined) throw new UsageError([`${twice} stands there twice: name each run once`]);
    const api = await context.api();
    const compared = await api.call('compareRuns', { runs: runs.join(','), metric: values.metric });
    if (values.metric !== undefined && compared.metric === undefined)
      context.terminal.note(`no run of these has logged "${values.metric}" (--metric)`);
    return context.answer(compared, () => text(compared));
  },
});

const HEAD = [
  'run',
  'status',
  'strategy',
  'topology',
  'samples/s',
  '$/M samples',
  'step s',
  'CPU',
  'GPU',
  'cost',
];

function text({ rows, metric, differing = [] }: AnswerOf<'compareRuns'>): string {
  const head = metric === undefined ? HEAD : [...HEAD, `cost to ${metric.name} ${shown(metric.value, 4)}`];
  const table = tableText([head, ...rows.map((row) => cellsOf(row, metric !== undefined))]);
  if (differing.length === 0) return table;
  const names = rows.map(({ runId }) => runId);
  return `${table}\n\n${tableText([['differs', ...names], ...differing.map(({ field, values }) => [safe(field), ...values.map(shortened)])])}`;
}

function cellsOf(row: AnswerOf<'compareRuns'>['rows'][number], hasMetric: boolean): string[] {
  const { stepSeconds, cpuBusy, gpuBusy } = row;
  return [
    row.runId,
    row.status,
    row.strategy ?? '-',
    row.topology ?? 'not measured',
    shown(row.samplesPerSecond, 1),
    shown(row.usdPerMillionSamples, 4),
    stepSeconds === undefined ? '-' : `${shown(stepSeconds.median, 3)} (p95 ${shown(stepSeconds.p95, 3)})`,
    percent(cpuBusy),
    percent(gpuBusy),
    `$${row.costUsd.toFixed(4)}`,
    ...(hasMetric ? [row.costToMetricUsd === undefined ? '-' : `$${row.costToMetricUsd.toFixed(4)}`] : []),
  ];
}

const LONGEST_VALUE = 40;
const shortened = (value: string): string =>
  value.length <= LONGEST_VALUE ? safe(value) : `${safe(value).slice(0, LONGEST_VALUE - 1)}…`;

const shown = (value: number | undefined, digits: number): string =>
  value === undefined ? '-' : value.toFixed(digits);
const percent = (share: number | undefined): string =>
  share === undefined ? '-' : `${Math.round(100 * share)} %`;
