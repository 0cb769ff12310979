/** npm run bench:campaign: campaigns of a day through the emulator in a minute or so each, beside the simulator's word on them. */
import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandLine, runCommand, UsageError } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { seedList } from '../seeds.ts';
import { inWorkFolder } from '../work-folder.ts';
import { type Played, playCampaigns } from './campaign.ts';
import {
  type CampaignCase,
  campaignIn,
  drawnCase,
  POOLS,
  type Pools,
  SEVERAL_ZONES,
  simulated,
} from './campaign-case.ts';

const MOST_ZONES = SEVERAL_ZONES.zoneIds.length;

const USAGE = `npm run bench:campaign -- [OPTIONS]

Plays campaigns through the whole service: the state machine and the Lambdas in the emulator, the local SageMaker and
Spot market, and a training script that counts, on one virtual clock. Prints what each cost, and what the simulator says.

  --seeds LIST        draw traces from the fitted chain; default 1,2,3
  --work HOURS        default 16        --deadline HOURS   default 24
  --start SECONDS     from the start of billing to the first step; default 300
  --beside N          so many at once in one region, 1 to ${POOLS.length}; default 1
  --zones N           zones of several prices, each with a trace of its own, 1 to ${MOST_ZONES}; default 1
  --verbose           what the local SageMaker and the market say
  --help
`;

const above0 = z.coerce.number('give a number above 0').positive('give a number above 0');
const notBelow0 = z.coerce.number('give a number').min(0, 'give a number, 0 or more');

const schema = z.object({
  seeds: seedList.prefault('1,2,3'),
  work: above0.default(16),
  deadline: above0.default(24),
  start: notBelow0.default(300),
  beside: wholeNumber(1, POOLS.length).default(1),
  zones: wholeNumber(1, MOST_ZONES).default(1),
  verbose: z.boolean().default(false),
});

type Options = z.output<typeof schema>;

function casesOf({ seeds, zones, beside, work, deadline, start }: Options): readonly CampaignCase[] {
  if (zones > 1 && beside > 1)
    throw new UsageError([
      `--zones is ${zones} beside --beside ${beside}: a region plays one such campaign at once`,
    ]);
  const job = { workHours: work, deadlineHours: deadline, startSeconds: start };
  return seeds.map((seed) => drawnCase(seed, job, zones));
}

const projectFolder = join(import.meta.dirname, '../..');
const pythonPath = process.env['TIDEWHEEL_PYTHON'] ?? join(projectFolder, '.venv/bin/python');

/** Each region begins as a copy of one into which the stack is deployed and nothing else. */
async function inFreshRegions(
  options: Options,
  cases: readonly CampaignCase[],
  folder: string,
  signal: AbortSignal,
): Promise<Played[]> {
  const log = (line: string): void => {
    if (options.verbose) process.stderr.write(`  ${line}\n`);
  };
  const base = join(folder, 'deployed');
  const played: Played[] = [];
  process.stderr.write('  starting a region and deploying the stack\n');
  await playCampaigns([], { stateDirectory: base, pythonPath, log, signal });
  for (let from = 0; from < cases.length; from += options.beside) {
    const stateDirectory = join(folder, `region-${from}`);
    // The link to the current snapshot is a relative one and must stay so.
    await cp(base, stateDirectory, { recursive: true, verbatimSymlinks: true });
    const batch = cases
      .slice(from, from + options.beside)
      .map((each, k) => campaignIn(each, poolsOf(options, k)));
    for (const one of await playCampaigns(batch, { stateDirectory, pythonPath, log, signal })) {
      played.push(one);
      process.stdout.write(`${lineOf(one)}\n`);
    }
  }
  return played;
}

const poolsOf = ({ zones }: Options, k: number): Pools => (zones > 1 ? undefined : POOLS[k]) ?? SEVERAL_ZONES;

const HEADS = ['USD', 'simulated', 'ratio', 'hours', 'simulated', 'attempts', 'wall s'];

function lineOf({ campaign, report, campaignSeconds, wallSeconds }: Played): string {
  const expected = simulated(campaign);
  const cells = [
    report.costUsd.toFixed(3),
    expected.costUsd.toFixed(3),
    (report.costUsd / expected.costUsd).toFixed(4),
    (campaignSeconds / 3_600).toFixed(2),
    (expected.finishSeconds / 3_600).toFixed(2),
    String(report.attempts.length),
    wallSeconds.toFixed(0),
  ];
  const end = report.status !== 'succeeded' ? (report.failure ?? report.status) : '';
  const late = report.deadline.met === false ? 'LATE' : '';
  return `${campaign.name.padEnd(26)}${cells.map((cell) => cell.padStart(10)).join('')} ${late} ${end}`.trimEnd();
}

await runCommand(USAGE, async (args) => {
  const { values } = readCommandLine(args, { schema });
  if (!existsSync(pythonPath)) throw new Error(`no Python at ${pythonPath}: run "npm run setup" once`);
  process.stdout.write(`${'campaign'.padEnd(26)}${HEADS.map((head) => head.padStart(10)).join('')}\n`);
  const played = await inWorkFolder('campaign', (folder, signal) =>
    inFreshRegions(values, casesOf(values), folder, signal),
  );
  const late = played.filter(({ report }) => report.deadline.met !== true);
  const ratios = played.map(({ campaign, report }) => report.costUsd / simulated(campaign).costUsd);
  const within = ratios.filter((ratio) => Math.abs(ratio - 1) <= 0.05).length;
  process.stdout.write(
    `${played.length} campaigns: ${within} within 5 % of the simulator, ${late.length} late or failed\n`,
  );
  return late.length === 0 ? 0 : 1;
});
