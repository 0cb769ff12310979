/** `tidewheel probe`: tries settings for some steps each, and says which are the cheapest and the fastest. */
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { usdText } from '../../client/amounts.ts';
import { EXIT } from '../command/exit.ts';
import { tableText } from '../command/format.ts';
import { pipelineMeant } from '../command/run-list.ts';
import { defineVerb, flag, option } from '../command/verb.ts';
import { runCells } from '../probe/cells.ts';
import { type PlannedCell, planned } from '../probe/estimate.ts';
import { cellsOf, gridProblem, varyProblem } from '../probe/grid.ts';
import { resultText, verdictOfProbe } from '../probe/result.ts';

const MINUTES = 'write a number of minutes, 1 or more';
const minutes = z.coerce.number(MINUTES).min(1, MINUTES).max(1_440, MINUTES);
const BUDGET = 'write a number of dollars above 0';
/** As a shell has it for a program that Ctrl-C ended. */
const INTERRUPTED = 130;

function checkVaried(varied: readonly string[], problems: z.RefinementCtx): void {
  const found = varied.map(varyProblem);
  for (const [place, message] of found.entries())
    if (message !== undefined) problems.addIssue({ code: 'custom', path: [place], message });
  const message = found.every((each) => each === undefined) ? gridProblem(varied) : undefined;
  if (message !== undefined) problems.addIssue({ code: 'custom', message });
}

export const verb = defineVerb({
  name: 'probe',
  summary: 'try settings for some steps each, and say which are cheapest and fastest',
  about: `
Every combination of the values trains for so many steps on the dataset that is packed, one after the other. Before that
it says what each costs at most. A probe is no run of the pipeline: it takes no arrivals, leaves no model, and no target
hears of it. Intervals are of 95 %. The exit code is 2 where a combination was not measured (docs/probing.md).`,
  positionals: ['PIPELINE?'],
  options: {
    vary: option(
      'NAME=A,B',
      'try these values; may come again',
      z.array(z.string()).superRefine(checkVaried).default([]),
    ),
    steps: option(
      'N',
      'steps of each, the first fifth not counted; default 200',
      wholeNumber(20, 1e6).default(200),
    ),
    minutes: option('MIN', 'the longest training of each; default 20', minutes.default(20)),
    budget: option('USD', 'all together cost no more', z.coerce.number(BUDGET).positive(BUDGET).optional()),
    'dry-run': flag('say what it would cost, and start nothing'),
    yes: flag('do not ask', 'y'),
  },
  check: (_words, _values, { vary, web }) =>
    vary || web ? [] : ['--vary is missing: name what to try, such as --vary training.strategy=ddp,mpi'],
  examples: [
    ['digits --vary training.strategy=mpi,parameter-server', 'two ways to share the work'],
    ['digits --vary compute.instanceTypes=g5.xlarge,c5.9xlarge --budget 2', 'an accelerator or CPUs'],
    ['--vary num_workers=2,4,8 --vary training.environment.OMP_NUM_THREADS=1,4', 'workers and threads'],
  ],
  web: async ({ positionals: [given] }, context) =>
    `/pipelines/${await pipelineMeant(context, given)}/probes`,
  run: async ({ values, positionals: [given] }, context) => {
    const { terminal, answer } = context;
    const pipeline = await pipelineMeant(context, given);
    const api = await context.api();
    const limits = { steps: values.steps, seconds: Math.round(60 * values.minutes) };
    const cells = await planned(api, pipeline, { cells: cellsOf(values.vary), limits });
    const estimate = estimateText(cells, values);
    if (values['dry-run']) {
      const shown = cells.map(({ assignments: _assignments, ...cell }) => cell);
      return answer({ pipeline, cells: shown }, () => estimate);
    }
    terminal.note(estimate);
    checkBudget(cells, values.budget);
    if (!(await mayStart(terminal, values))) return EXIT.ok;
    const leaving = new AbortController();
    const leave = () => {
      if (leaving.signal.aborted) process.exit(INTERRUPTED);
      leaving.abort();
    };
    process.on('SIGINT', leave);
    try {
      const job = {
        api,
        terminal,
        pipeline,
        cells,
        limits,
        budgetUsd: values.budget,
        signal: leaving.signal,
      };
      const ended = await runCells(job);
      const verdict = verdictOfProbe(ended);
      answer({ pipeline, ...limits, ...documentOf(ended), verdict }, () => resultText(ended));
      if (leaving.signal.aborted) return INTERRUPTED;
      const isWhole = ended.cells.length === cells.length && ended.cells.every(({ probe }) => probe.speed);
      return isWhole ? EXIT.ok : EXIT.runFailed;
    } finally {
      process.off('SIGINT', leave);
    }
  },
});

const documentOf = ({ cells, leftOut }: Awaited<ReturnType<typeof runCells>>) => ({
  cells: cells.map(({ cell: { name, change }, probe: { declaration: _declaration, ...probe } }) => ({
    name,
    change,
    ...probe,
  })),
  leftOut,
});

function estimateText(
  cells: readonly PlannedCell[],
  {
    steps,
    minutes,
    budget,
  }: { readonly steps: number; readonly minutes: number; readonly budget?: number | undefined },
): string {
  const most = cells.reduce((sum, { mostUsd }) => sum + mostUsd, 0);
  const rows = cells.map(({ name, place, usdPerHour, mostUsd }) => [
    name,
    place,
    ...(usdPerHour === 0 ? ['-', '-'] : [`$${usdPerHour.toFixed(3)}`, `$${usdText(mostUsd)}`]),
  ]);
  const capped = budget === undefined ? '' : `, and no more than USD ${usdText(budget)} by --budget`;
  return [
    tableText([['settings', 'place', 'On-Demand/h', 'at most'], ...rows]),
    `${steps} steps each, at most ${minutes} minutes and USD ${usdText(most)} together${capped}`,
  ].join('\n');
}

/** @throws UsageError where it is too small for any of them */
function checkBudget(cells: readonly PlannedCell[], budget: number | undefined): void {
  const least = Math.min(...cells.filter(({ usdPerHour }) => usdPerHour > 0).map(({ mostUsd }) => mostUsd));
  if (budget !== undefined && Number.isFinite(least) && budget < least)
    throw new UsageError([
      `--budget is "${budget}": the cheapest combination may cost USD ${usdText(least)}: raise it, or lower --minutes`,
    ]);
}

/** @throws UsageError where no person could answer and nothing caps the cost */
async function mayStart(
  terminal: { readonly ask: (question: string) => Promise<string | undefined> },
  { yes, budget }: { readonly yes: boolean; readonly budget?: number | undefined },
): Promise<boolean> {
  if (yes) return true;
  const reply = await terminal.ask('start? [y/N] ');
  if (reply !== undefined) return /^y(es)?$/i.test(reply.trim());
  if (budget !== undefined) return true;
  throw new UsageError(['no person can answer here: say --yes, or cap the cost with --budget USD']);
}
