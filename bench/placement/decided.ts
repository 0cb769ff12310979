/** npm run bench:placement: campaigns decided by `place` and `revise` themselves, beside the simulator's policy. */

import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import { type AssumedName, assumed } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { seedList } from '../seeds.ts';
import { MOST_TYPES } from './decided/decided-campaign.ts';
import {
  type Decided,
  decidedCampaigns,
  MOST_ZONES,
  SCORES,
  type ScoreKind,
  SETTING,
  summaryOf,
} from './decided/play.ts';
import { reservedCampaigns, summaryOfReserved } from './decided/reserved.ts';

const USAGE = `npm run bench:placement -- [OPTIONS]

Plays campaigns of 24 hours, 16 of them work, on traces drawn from the fitted chain: every attempt is decided by \`place\`,
\`whyStop\` and \`reviseAttempt\`, which know the market by asking and by placement scores. Prints what each costs over what
the simulator's policy pays, which sees every tick. Nothing is started; a campaign takes a tenth of a second or so.

  --prices LIST       Spot prices of one to ${MOST_ZONES} zones, USD an hour beside ${SETTING.onDemandUsd} on demand; default ${SETTING.spotUsd.join(',')}
  --scores KINDS      of right, wrong (once in ten times), none; default right,wrong,none
  --seeds LIST        default 1-20
  --on-demand-waits LEAST-MOST
                      minutes that On-Demand starts wait for their hosts, as in 28-58; default none
  --types N           that a run may use on demand, whose waits are independent: 1 to ${MOST_TYPES}; default 1
  --former N          earlier runs that waited as long; default 5
  --assumed NAMES     of the figures of packages/placement/model/assumed.ts, or all: what the campaigns cost with half and
                      with twice of each, over what they cost with it
  --plans             beside a training plan whose hours are drawn, over the optimum that knows hours and traces: with
                      Spot that is always there, and with the traces; takes --scores and --seeds alone
  --each              a line for every campaign, with its timeline: a letter for every ten minutes, the number of the
                      Spot zone, D on demand, - while a job waits for capacity, . while the run requests nothing
  --help
`;

const PRICES = `give one to ${MOST_ZONES} numbers above 0, as in 0.92,1.60`;
const KINDS = `give some of ${Object.keys(SCORES).join(', ')}`;
const NAMES = Object.keys(assumed);
const FIGURES = `give all, or some of ${NAMES.join(', ')}`;
const WAITS = 'give minutes, as in 28-58';

const isKind = (word: string): word is ScoreKind => Object.hasOwn(SCORES, word);

const schema = z.object({
  prices: z
    .string()
    .transform((text) => text.split(',').map(Number))
    .refine((prices) => prices.length <= MOST_ZONES && prices.every((usd) => usd > 0), PRICES)
    .prefault(SETTING.spotUsd.join(',')),
  scores: z
    .string()
    .transform((text) => text.split(','))
    .refine((kinds): kinds is ScoreKind[] => kinds.every(isKind), KINDS)
    .prefault('right,wrong,none'),
  seeds: seedList.prefault('1-20'),
  'on-demand-waits': z
    .string()
    .regex(/^\d{1,4}-\d{1,4}$/, WAITS)
    .transform((text): readonly [number, number] => {
      const [least = 0, most = least] = text.split('-').map(Number);
      return [least, most];
    })
    .optional(),
  types: wholeNumber(1, MOST_TYPES).default(1),
  former: wholeNumber(0, 20).default(5),
  assumed: z
    .string()
    .transform((text) => (text === 'all' ? NAMES : text.split(',').filter(Boolean)))
    .refine((names): names is AssumedName[] => names.every((name) => Object.hasOwn(assumed, name)), FIGURES)
    .prefault(''),
  plans: z.boolean().default(false),
  each: z.boolean().default(false),
});

/** Campaigns beside a plan have a setting of their own. */
const besides = ({ plans, ...given }: Readonly<Record<string, unknown>>): readonly string[] =>
  plans === true
    ? (['prices', 'on-demand-waits', 'types', 'former', 'assumed', 'each'] as const)
        .filter((name) => given[name] !== undefined)
        .map((name) => `--plans has a setting of its own: leave out --${name}`)
    : [];

const lineOf = ({ seed, costUsd, simulatedUsd, ratio, starts, timeline }: Decided): string =>
  `  seed ${String(seed).padEnd(5)} $${costUsd.toFixed(2)}, simulated $${simulatedUsd.toFixed(2)}, ratio ${ratio.toFixed(4)}, ${starts} starts  ${timeline}\n`;

/** @returns how many were late */
async function besidePlans(scoreKind: ScoreKind, seeds: readonly number[]): Promise<number> {
  let late = 0;
  for (const isCalm of [true, false]) {
    const found = summaryOfReserved(await reservedCampaigns(scoreKind, { seeds, isCalm }));
    late += found.late;
    process.stdout.write(
      `a training plan, Spot ${isCalm ? 'always there' : 'by traces'}, scores ${scoreKind}: ${found.together.toFixed(4)} of the optimum's cost together (${found.withoutPlan.toFixed(4)} without the plan), ` +
        `${(100 * found.idle).toFixed(1)} % of its hours idle, ${found.late} late\n`,
    );
  }
  return late;
}

interface Played {
  readonly play: () => Promise<readonly Decided[]>;
  /** With the figure as it is. */
  readonly together: number;
}

async function changedBy(name: AssumedName, { play, together }: Played): Promise<string> {
  const value = assumed[name];
  const cells: string[] = [];
  for (const [what, factor] of [
    ['half', 0.5],
    ['twice', 2],
  ] as const) {
    assumed[name] = factor * value;
    const { late, ...found } = summaryOf(await play());
    cells.push(`${what} ${(found.together / together).toFixed(4)}${late > 0 ? `, ${late} late` : ''}`);
  }
  assumed[name] = value;
  return cells.join('; ');
}

await runCommand(USAGE, async (args) => {
  const {
    prices,
    scores,
    seeds,
    each,
    former,
    types,
    plans,
    assumed: figures,
    'on-demand-waits': minutes,
  } = readCommandLine(args, { schema, check: (_, __, given) => besides(given) }).values;
  const play = (scoreKind: ScoreKind, onEnd?: (row: Decided) => void) =>
    decidedCampaigns(scoreKind, {
      setting: { ...SETTING, spotUsd: prices },
      seeds,
      types,
      wait: minutes && { minutes, formerRuns: former },
      ...(onEnd && { onEnd }),
    });
  let late = 0;
  for (const scoreKind of scores) {
    if (plans) {
      late += await besidePlans(scoreKind, seeds);
      continue;
    }
    const rows = await play(scoreKind, (row) => each && process.stdout.write(lineOf(row)));
    const { together, near, worst, ...rest } = summaryOf(rows);
    late += rest.late;
    process.stdout.write(
      `Spot ${prices.join(', ')}, scores ${scoreKind}: ${together.toFixed(4)} of the simulator's cost together, ` +
        `${near} of ${rows.length} within 5 %, worst ${worst.toFixed(3)}, ${rest.late} late\n`,
    );
    for (const name of figures) {
      const changed = await changedBy(name, { play: () => play(scoreKind), together });
      process.stdout.write(`  ${name.padEnd(20)} ${String(assumed[name]).padEnd(6)} ${changed}\n`);
    }
  }
  return late === 0 ? 0 : 1;
});
