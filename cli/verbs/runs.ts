/** `tidewheel runs`: the runs of all pipelines, or of one. */
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { durationText, metricText, usdText } from '../../client/amounts.ts';
import { isFinished } from '../../client/run-view.ts';
import { millisecondsOf, momentText, safe, tableText } from '../command/format.ts';
import { type RunRow, runRows, runsOf } from '../command/run-list.ts';
import type { Colours } from '../command/terminal.ts';
import { defineVerb, flag, option } from '../command/verb.ts';

const MOST = 1_000;
const OPEN = 'settling,packing,placing,training';

export const verb = defineVerb({
  name: 'runs',
  summary: 'list runs, newest first',
  positionals: ['PIPELINE?'],
  options: {
    pipeline: option('NAME', 'of one pipeline, as PIPELINE', z.string().optional(), 'p'),
    failed: flag('only failed ones'),
    open: flag('only those that have not ended'),
    since: option(
      'AGE',
      'begun within 90m, 12h or 7d',
      z
        .string()
        .refine((text) => millisecondsOf(text) !== undefined, 'write 90m, 12h or 7d')
        .transform(millisecondsOf)
        .optional(),
    ),
    where: option(
      'TERMS',
      "such as 'val_accuracy > 0.9 and tag:baseline', or words of the id, failure, note or owner",
      z.string().min(1, "write terms, such as 'loss < 0.1'").optional(),
    ),
    limit: option('N', 'at most N (default 20)', wholeNumber(1, MOST).default(20), 'n'),
  },
  examples: [
    ['', 'the newest 20'],
    ['digits --failed --since 7d', 'what failed this week'],
    ["digits --where 'val_accuracy > 0.9'", 'which were good'],
    ['--open --json', 'for a script'],
  ],
  web: async ({ values, positionals: [pipeline = values.pipeline] }, context) => {
    if (pipeline === undefined) return '/';
    await runsOf(await context.api(), pipeline, 1);
    return `/pipelines/${pipeline}`;
  },
  run: async ({ values, positionals: [pipeline = values.pipeline] }, context) => {
    const api = await context.api();
    const { limit } = values;
    // The list of one pipeline knows whether there is such a one.
    if (pipeline !== undefined) await runsOf(api, pipeline, 1);
    const since = values.since === undefined ? undefined : new Date(Date.now() - values.since);
    const status = values.failed ? 'failed' : values.open ? OPEN : undefined;
    const runs = await runRows(
      api,
      { pipeline, status, since: since?.toISOString(), where: values.where },
      limit,
    );
    const { terminal } = context;
    if (context.json) terminal.print(JSON.stringify({ runs: runs.map(rowOf) }, null, 2));
    else if (runs.length === 0 && values.where !== undefined) terminal.note(`no run is like ${values.where}`);
    else if (runs.length === 0) terminal.note('no such run yet: tidewheel drop starts one, or tidewheel run');
    else terminal.print(tableText([HEAD, ...runs.map((run) => line(run, terminal.colours))]));
    return 0;
  },
});

const HEAD = ['RUN', 'STATUS', 'BEGAN', 'TOOK', 'USD', 'BY', ''];

const FIELDS = [
  'runId',
  'pipeline',
  'status',
  'trigger',
  'createdAt',
  'updatedAt',
  'failure',
  'need',
  'modelUri',
  'startedFrom',
  'result',
  'source',
  'git',
  'owner',
  'tags',
] as const satisfies readonly (keyof RunRow)[];

const rowOf = (run: RunRow) => Object.fromEntries(FIELDS.map((field) => [field, run[field]]));

function line(run: RunRow, colours: Colours): string[] {
  const now = new Date();
  const began = new Date(run.createdAt);
  const metric = run.result?.metric;
  const why = run.status === 'notNeeded' ? run.need?.reason : run.failure;
  const ended = isFinished(run) ? new Date(run.updatedAt) : now;
  return [
    run.runId,
    statusText(run.status, colours),
    momentText(began, now),
    durationText((ended.getTime() - began.getTime()) / 1000),
    run.result === undefined ? '-' : usdText(run.result.costUsd),
    run.trigger,
    safe(why?.split('\n', 1)[0] ?? (metric === undefined ? '' : metricText(metric.name, metric.value))),
  ];
}

function statusText(status: string, colours: Colours): string {
  switch (status) {
    case 'succeeded':
      return colours.green(status);
    case 'failed':
      return colours.red(status);
    case 'stopped':
    case 'empty':
    case 'notNeeded':
      return colours.yellow(status);
    default:
      return colours.cyan(status);
  }
}
