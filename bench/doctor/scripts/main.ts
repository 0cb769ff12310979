/** npm run bench:doctor-scripts: the doctor's first verdict on scripts in the manner of others, and what its remedy brings. */
import { mkdir } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import { markdownTable } from '../../../cli/recipes/table.ts';
import { diagnose } from '../../../functions/core/doctor/diagnose.ts';
import type { Evidence } from '../../../functions/core/doctor/evidence.ts';
import { measuresOf } from '../../../functions/core/doctor/measures.ts';
import type { Change, Verdict } from '../../../functions/core/doctor/verdict.ts';
import { fromCaller, inWorkFolder, writeJson } from '../../scripts/work-folder.ts';
import type { Case, Remedied } from './case.ts';
import { WRITTEN } from './catalogue.ts';
import { OTHERS } from './others.ts';
import { type Means, played, STEPS } from './play.ts';
import { HEAD, lineOf, type Row } from './row.ts';

const CASES = [...WRITTEN, ...OTHERS];
const NAMES = CASES.map(({ name }) => name);

const USAGE = `npm run bench:doctor-scripts -- [OPTIONS]

Runs scripts under the agent, asks the doctor of each, takes the remedy of its first verdict, and runs it with and
without at the same time. The first names are scripts written after the documentation of others, in which an accelerator
is a wait, so that two cores are enough; they take the remedy by their own arguments. The others are scripts of others as
their package or repository has them, on the CPU. They take the remedy by an argument, or by the line that it names.
Packages come from the package index of pip, repositories by git, both into .tidewheel.

  --only NAMES    some of the names below, as a,b; or written, or others; default all
  --seconds N     of steps, for each script and for each remedy; default 75
  --threads N     of OMP_NUM_THREADS; default the number of cores. On cores that other programs hold, threads that wait
                  for each other take most of the time; 1 leaves that out
  --json FILE     writes all rows to a file
  --evidence DIR  writes what was measured of each run into this folder, for npx tidewheel doctor --evidence FILE
  --help

written
${WRITTEN.map(({ name }) => `  ${name}`).join('\n')}
others
${OTHERS.map(({ name }) => `  ${name}`).join('\n')}
`;

const GROUPS: Readonly<Record<string, readonly Case[]>> = { written: WRITTEN, others: OTHERS };

const spec = {
  options: {
    only: { type: 'string', default: NAMES.join(',') },
    seconds: { type: 'string', default: '75' },
    threads: { type: 'string' },
    json: { type: 'string' },
    evidence: { type: 'string' },
  },
  schema: z.object({
    only: z
      .string()
      .transform((text) =>
        text.split(',').flatMap((name) => GROUPS[name]?.map((each) => each.name) ?? [name]),
      )
      .refine((names) => names.every((name) => NAMES.includes(name)), `give some of ${NAMES.join(', ')}`),
    seconds: z.coerce
      .number('give seconds')
      .int('give whole seconds')
      .min(60, 'give 60 or more: a verdict needs five points'),
    threads: z.coerce.number('give a number').int('give a whole number').min(1, 'give 1 or more').optional(),
    json: z.string().optional(),
    evidence: z.string().transform(fromCaller).optional(),
  }),
} as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, spec);
  const rows: Row[] = [];
  if (values.evidence !== undefined) await mkdir(values.evidence, { recursive: true });
  await inWorkFolder('tw-doctor', async (folder) => {
    for (const one of CASES.filter(({ name }) => values.only.includes(name))) {
      const row = await judged(one, {
        ...folder,
        seconds: values.seconds,
        threads: values.threads,
        keep: values.evidence,
      }).catch((error: unknown) => {
        folder.signal.throwIfAborted();
        const problem = messageOf(error);
        say(`${one.name}: ${problem}`);
        return unplayed(one, problem);
      });
      rows.push(row);
      say(lineOf(row).join('  '));
    }
  });
  const day = new Date().toISOString().slice(0, 10);
  say(`\n${markdownTable(HEAD, rows.map(lineOf))}\n`);
  say(`${day}, ${availableParallelism()} cores at a load of ${loadavg()[1]?.toFixed(0)}.`);
  if (values.json !== undefined) await writeJson(values.json, rows);
  return rows.every(({ isRight, problem }) => isRight !== false && problem === undefined) ? 0 : 1;
}

async function judged(one: Case, means: Means): Promise<Row> {
  const alone = await played(one, means, 'alone');
  const [first] = diagnose(alone);
  const row: Row = {
    ...unplayed(one),
    isRight: one.right && first !== undefined && one.right.includes(first.cause),
    verdict: first === undefined ? 'too few points' : `${first.cause}${saidBy(first)}`,
    stepSeconds: stepSecondsOf(alone),
  };
  const more = first?.remedy && remediedBy(one, first.remedy.change);
  if (first === undefined || more === undefined) return row;
  // At the same time, for the machine has other work, and more of it at one time than at another.
  const [before, after] = await Promise.all([
    played(one, means, 'beside'),
    played(one, means, 'remedied', more),
  ]);
  const again = diagnose(before).find(({ cause }) => cause === first.cause) ?? first;
  const stepSeconds = stepSecondsOf(before);
  return { ...row, stepSeconds, forecast: forecastOf(again, stepSeconds), measured: stepSecondsOf(after) };
}

const unplayed = ({ name }: Case, problem?: string): Row => ({
  name,
  problem,
  isRight: undefined,
  verdict: '',
  stepSeconds: undefined,
  forecast: undefined,
  measured: undefined,
});

/** An environment variable reaches every script. */
const remediedBy = (one: Case, change: Change): Remedied | undefined =>
  change.kind === 'threads'
    ? { environment: { OMP_NUM_THREADS: String(change.threads) } }
    : one.remedied?.(change);

/** undefined: too few steps. */
const stepSecondsOf = (evidence: Evidence): number | undefined => measuresOf(evidence)?.pace.stepSeconds;

const saidBy = ({ remedy }: Verdict): string => (remedy === undefined ? '' : `: ${remedy.text}`);

function forecastOf({ gain }: Verdict, stepSeconds: number | undefined): Row['forecast'] {
  if (stepSeconds === undefined) return undefined;
  const { low, expected, high } = gain.seconds;
  const after = (saved: number): number => stepSeconds - saved / STEPS;
  return { low: after(high), expected: after(expected), high: after(low) };
}

await runCommand(USAGE, main);
