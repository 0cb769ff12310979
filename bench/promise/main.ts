/** npm run bench:promise: how often the end and the cost that people see hold, over campaigns that placement decides. */

import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { markdownTable } from '../../cli/recipes/table.ts';
import { DANGER_CHANCE } from '../../functions/run/attempts/watch-limits.ts';
import { HOUR } from '../placement/decided/decided-campaign.ts';
import { onThreads } from '../threads.ts';
import { type Kept, TROUBLES, type Trouble } from './campaigns.ts';
import { brokenIn, type Cell, cellsOf, PLAIN, percent, pooled, wilson } from './score.ts';

const USAGE = `npm run bench:promise -- [OPTIONS]

Plays campaigns of 16 hours of work, decided by \`place\`, \`whyStop\` and \`reviseAttempt\`, in windows that are no draws of
the fitted chain, on a thread a core, and holds what the API says of end and cost at the plan and at 10, 25, 50, 75 and
90 % of the work against what then happens. Nothing is started; a campaign takes a core half a second or so. Exit code 1
where the promise is broken, with every slice that breaks it.

  --campaigns N       default 200
  --seed N            the first of as many; default 1
  --all               a line for every slice, not only for all campaigns and those that are beside an oracle
  --late N            then as many campaigns of each kind that is made to be late, and how many of them were announced
                      an hour or more before their deadline; default 0
  --json FILE         every cell
  --help
`;

const schema = z.object({
  campaigns: wholeNumber(1, 100_000).default(200),
  seed: wholeNumber(1).default(1),
  all: z.boolean().default(false),
  late: wholeNumber(0, 100_000).default(0),
  json: z.string().min(1, 'name a file').optional(),
});

const between = (shares: readonly number[]): string =>
  shares.map((each) => (100 * each).toFixed(0)).join('-');

const HEAD = 'slice|at|of|number|holds|99 %|width|bias|error|ruler|crps|normal|oracle'.split('|');

const rowOf = (cell: Cell): string[] => [
  cell.slice,
  cell.share === 0 ? 'plan' : `${100 * cell.share} %`,
  cell.of,
  String(cell.count),
  percent(cell.holds),
  between(cell.holdsBetween),
  cell.width.toFixed(3),
  ...[cell.bias, cell.error, cell.naiveError, cell.crps, cell.normalCrps].map(percent),
  Number.isNaN(cell.oracleWidth) ? '-' : cell.oracleWidth.toFixed(3),
];

const SHOWN: ReadonlySet<string> = new Set(['all', PLAIN]);

const play = (asked: readonly { readonly seed: number; readonly trouble?: Trouble }[]): Promise<Kept[]> =>
  onThreads<Kept>(asked, {
    script: new URL('./player.ts', import.meta.url),
    threads: availableParallelism(),
  });

async function warnedLine(trouble: Trouble, seeds: readonly number[]): Promise<string> {
  const late = (await play(seeds.map((seed) => ({ seed, trouble })))).filter(({ isLate }) => isLate);
  const share = late.filter(({ warnedAhead = 0 }) => warnedAhead >= HOUR).length / late.length;
  return `${trouble}: ${late.length} of ${seeds.length} late, ${percent(share)} announced an hour ahead (${between(wilson(share, late.length))})`;
}

await runCommand(USAGE, async (args) => {
  const { campaigns, seed, all, late, json } = readCommandLine(args, { schema }).values;
  const kept = await play(Array.from({ length: campaigns }, (_, k) => ({ seed: seed + k })));
  const cells = cellsOf(kept);
  const lines = all ? cells : cells.filter(({ slice }) => SHOWN.has(slice));
  const looks = kept.flatMap(({ shown }) => shown);
  const took = looks.map(({ cpuMilliseconds }) => cpuMilliseconds).toSorted((a, b) => a - b);
  const alarmed = kept.filter(({ shown }) =>
    shown.some(({ share, lateChance }) => share > 0 && lateChance > DANGER_CHANCE),
  );
  console.log(markdownTable(HEAD, lines.map(rowOf)));
  console.log(
    `${campaigns} campaigns, ${kept.filter(({ isLate }) => isLate).length} late, ${alarmed.length} announced (${alarmed.filter(({ isLate }) => !isLate).length} falsely); ` +
      `a look takes ${took[Math.floor(took.length / 2)]?.toFixed(0) ?? '-'} ms of CPU, the longest ${took.at(-1)?.toFixed(0) ?? '-'} ms`,
  );
  const held = cells.filter(({ isHeld }) => isHeld);
  console.log(
    `of what has to hold, ${percent(pooled(held, 'end'))} of ends and ${percent(pooled(held, 'cost'))} of costs did`,
  );
  const broken = brokenIn(cells);
  for (const each of broken) console.log(`broken: ${each}`);
  const seeds = Array.from({ length: late }, (_, k) => seed + k);
  for (const trouble of late > 0 ? TROUBLES : []) console.log(await warnedLine(trouble, seeds));
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(cells, undefined, 1)}\n`);
  return broken.length === 0 ? 0 : 1;
});
