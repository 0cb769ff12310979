/**
 * npm run bench:sim -- --traces DIR: replays policies on traces of Spot capacity beside the clairvoyant optimum.
 * Costs are of the whole gang at the window's prices; several zones are billed honestly, a move is a new start.
 */
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { readCommandLine, runCommand, UsageError } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { markdownTable } from '../../cli/recipes/table.ts';
import { cutWindows } from './default-windows.ts';
import { readWindows } from './listed-windows.ts';
import { POLICY_NAMES } from './policies.ts';
import { type Row, summarise } from './rate.ts';
import { rateWindows } from './shares.ts';
import type { Window } from './windows.ts';

const HELP = `npm run bench:sim -- --traces DIR [options]
  --windows FILE      replay exactly these windows (a JSON array, see docs/research/simulator.md); else windows are cut:
  --work 48           hours of work          --deadline 52,70   hours     --restart 0.05,0.2   hours
  --on-demand 3.06    USD an hour            --spot 0.9731                --nodes 1   instances at once
  --every 24          hours between windows  --multi-zone       all zones of a folder together
  --policies LIST     of ${POLICY_NAMES.join(', ')}
  --json OUT          every run with its decisions
  --threads N         default: one a core`;

const above0 = z.coerce.number('give a number above 0').positive('give a number above 0');
const list = z.string().transform((text) => text.split(','));
const hours = z.coerce.number<string>('give hours, as in 0.05,0.2').min(0, 'give hours, as in 0.05,0.2');
const later = z.coerce.number<string>('give hours, as in 52,70').positive('give hours, as in 52,70');
const isFolder = (name: string): boolean => statSync(name, { throwIfNoEntry: false })?.isDirectory() === true;

const schema = z.object({
  traces: z
    .string('name the folder of the traces')
    .refine(isFolder, 'there is no such folder: name the one that holds the traces'),
  windows: z.string().optional(),
  work: above0.default(48),
  deadline: list.pipe(z.array(later)).prefault('52,70'),
  restart: list.pipe(z.array(hours)).prefault('0.05,0.2'),
  'on-demand': above0.default(3.06),
  spot: above0.default(0.9731),
  nodes: wholeNumber(1).default(1),
  every: above0.default(24),
  'multi-zone': z.boolean().default(false),
  policies: list
    .pipe(z.array(z.enum(POLICY_NAMES, `choose from ${POLICY_NAMES.join(', ')}`)))
    .prefault(POLICY_NAMES.join(',')),
  // Found out now and not when all has been replayed.
  json: z
    .string()
    .refine(
      (file) => isFolder(path.dirname(file)) && !isFolder(file),
      'name a file in a folder that there is',
    )
    .optional(),
  threads: wholeNumber(1).optional(),
});

type Chosen = z.output<typeof schema>;

async function main(args: readonly string[]): Promise<number> {
  const { values: chosen } = readCommandLine(args, { schema });
  await rateAll(chosen, windowsOf(chosen));
  return 0;
}

function windowsOf(chosen: Chosen): readonly Window[] {
  if (chosen.windows !== undefined) return readWindows(chosen.traces, chosen.windows);
  const windows = cutWindows(chosen.traces, {
    workHours: chosen.work,
    deadlineHours: chosen.deadline,
    restartHours: chosen.restart,
    onDemandPrice: chosen['on-demand'],
    spotPrice: chosen.spot,
    nodes: chosen.nodes,
    everyHours: chosen.every,
    multiZone: chosen['multi-zone'],
  });
  if (windows.length > 0) return windows;
  throw new UsageError([
    chosen['multi-zone']
      ? `no folder under ${chosen.traces} holds several traces of one tick and length that are long enough for such a window: give a shorter --deadline, or leave out --multi-zone`
      : `no trace under ${chosen.traces} is long enough for such a window: give a shorter --deadline`,
  ]);
}

async function rateAll(chosen: Chosen, windows: readonly Window[]): Promise<void> {
  const { policies } = chosen;
  const started = performance.now();
  const threads = chosen.threads ?? availableParallelism();
  const rows = await rateWindows(windows, { folder: chosen.traces, policies, threads });
  const deadlines = new Map(windows.map((window) => [window.id, window.deadlineHours]));
  console.log(
    `${windows.length} windows, ${policies.length} policies, ${((performance.now() - started) / 1_000).toFixed(1)} s`,
  );
  const cells = policies.map((policy) => {
    const { meanUsd, mean, median, p95, worst, late } = summarise(policy, rows, deadlines);
    const ratios = [mean, median, p95].map((ratio) => shown(ratio, 4));
    return [policy, shown(meanUsd, 2), ...ratios, shown(worst, 3), String(late)];
  });
  console.log(markdownTable(['policy', 'mean $', 'ratio', 'median', 'p95', 'worst', 'late'], cells));
  const unreachable = new Set(rows.filter((row) => row.optimumUsd === null).map((row) => row.id)).size;
  if (unreachable > 0)
    console.log(`${unreachable} windows that no schedule can meet are left out of the figures`);
  if (chosen.json !== undefined) writeRows(chosen.json, rows);
}

/** Row by row: all together may be longer than a text can be. */
function writeRows(file: string, rows: readonly Row[]): void {
  const out = openSync(file, 'w');
  try {
    for (const [k, row] of rows.entries()) writeSync(out, `${k === 0 ? '[' : ',\n'}${JSON.stringify(row)}`);
    writeSync(out, rows.length === 0 ? '[]\n' : ']\n');
  } finally {
    closeSync(out);
  }
}

/** Where no window can be met there is nothing to be a mean of. */
const shown = (figure: number, digits: number): string =>
  Number.isFinite(figure) ? figure.toFixed(digits) : '-';

await runCommand(HELP, main);
