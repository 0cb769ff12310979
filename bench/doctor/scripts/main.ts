/** npm run bench:doctor-scripts: the doctor's first verdict on scripts in the manner of others, and what its remedy brings. */
import { cp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { markdownTable } from '../../../cli/recipes/table.ts';
import type { Trial } from '../../../cli/try/host.ts';
import { diagnose } from '../../../functions/core/doctor/diagnose.ts';
import type { Evidence } from '../../../functions/core/doctor/evidence.ts';
import { measuresOf } from '../../../functions/core/doctor/measures.ts';
import type { Verdict } from '../../../functions/core/doctor/verdict.ts';
import { trainingSchema } from '../../../functions/core/pipeline/training.ts';
import { environmentOf } from '../../scripts/environment.ts';
import { CACHE, inWorkFolder, root, type WorkFolder, writeJson } from '../../scripts/work-folder.ts';
import { CASES, type Case } from './catalogue.ts';
import { evidenceOfScript, STEPS } from './play.ts';

const NAMES = CASES.map(({ name }) => name);

const USAGE = `npm run bench:doctor-scripts -- [OPTIONS]

Runs scripts written after the documentation of others under the agent, asks the doctor of each, takes the remedy of its
first verdict by the script's own arguments, and runs it with and without at the same time. An accelerator is a wait, so that two cores are enough.
Packages come from the package index of pip, into .tidewheel.

  --only NAMES    some of the names below, as a,b; default all
  --seconds N     of steps, for each script and for each remedy; default 75
  --json FILE     writes all rows to a file
  --help

${NAMES.map((name) => `  ${name}`).join('\n')}
`;

const spec = {
  options: {
    only: { type: 'string', default: NAMES.join(',') },
    seconds: { type: 'string', default: '75' },
    json: { type: 'string' },
  },
  schema: z.object({
    only: z
      .string()
      .transform((text) => text.split(','))
      .refine((names) => names.every((name) => NAMES.includes(name)), `give some of ${NAMES.join(', ')}`),
    seconds: z.coerce
      .number('give seconds')
      .int('give whole seconds')
      .min(60, 'give 60 or more: a verdict needs five points'),
    json: z.string().optional(),
  }),
} as const;

interface Row {
  readonly name: string;
  readonly isRight: boolean;
  readonly verdict: string;
  readonly stepSeconds: number;
  readonly forecast: { readonly low: number; readonly expected: number; readonly high: number } | undefined;
  /** Seconds of a step with the remedy taken. */
  readonly measured: number | undefined;
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, spec);
  const rows: Row[] = [];
  await inWorkFolder('tw-doctor', async (folder) => {
    for (const one of CASES.filter(({ name }) => values.only.includes(name))) {
      const row = await judged(one, { ...folder, seconds: values.seconds }).catch((error: unknown) => {
        folder.signal.throwIfAborted();
        say(String(error));
        return unplayed(one);
      });
      rows.push(row);
      say(lineOf(row).join('  '));
    }
  });
  const day = new Date().toISOString().slice(0, 10);
  say(`\n${markdownTable(HEAD, rows.map(lineOf))}\n`);
  say(`${day}, ${availableParallelism()} cores at a load of ${loadavg()[1]?.toFixed(0)}.`);
  if (values.json !== undefined) await writeJson(values.json, rows);
  return rows.every(({ isRight }) => isRight) ? 0 : 1;
}

const unplayed = ({ name }: Case): Row => ({
  name,
  isRight: false,
  verdict: 'did not run',
  stepSeconds: Number.NaN,
  forecast: undefined,
  measured: undefined,
});

interface Means extends WorkFolder {
  readonly seconds: number;
}

/** Runs the script with further arguments. `kind`: unlike that of another run at the same time. */
async function played(
  one: Case,
  { work, agentFile, seconds, signal }: Means,
  kind: 'alone' | 'beside' | 'remedied',
  more: readonly string[] = [],
): Promise<Evidence> {
  const pythonPath = process.env['TIDEWHEEL_PYTHON'] ?? join(root, '.venv/bin/python');
  const name = `${one.name}-${kind}`;
  const folder = join(work, `source-${name}`);
  await cp(join(import.meta.dirname, 'written'), folder, { recursive: true });
  const training = trainingSchema.parse({
    strategy: 'single',
    entryPoint: one.file,
    arguments: [...(one.arguments ?? []), ...more],
  });
  const trial: Trial = {
    folder,
    training,
    channels: {},
    work,
    agentFile,
    pythonPath: await environmentOf(one.requirements ?? [], pythonPath, CACHE),
    environmentsDirectory: join(root, '.tidewheel/environments'),
    graceSeconds: 20,
    masterPort: kind === 'remedied' ? 29_531 : 29_511,
    environment: { HF_HUB_OFFLINE: '1' },
  };
  try {
    return await evidenceOfScript(trial, name, seconds, signal);
  } finally {
    for (const path of [folder, join(work, name)]) await rm(path, { recursive: true, force: true });
  }
}

async function judged(one: Case, means: Means): Promise<Row> {
  const alone = await played(one, means, 'alone');
  const [first] = diagnose(alone);
  const row = {
    name: one.name,
    isRight: first !== undefined && one.right.includes(first.cause),
    verdict: first === undefined ? 'too few points' : `${first.cause}${saidBy(first)}`,
  };
  const more = first?.remedy && one.remedied?.(first.remedy.change);
  if (first === undefined || more === undefined)
    return { ...row, stepSeconds: stepSecondsOf(alone), forecast: undefined, measured: undefined };
  // At the same time, for the machine has other work, and more of it at one time than at another.
  const [before, after] = await Promise.all([
    played(one, means, 'beside'),
    played(one, means, 'remedied', more),
  ]);
  const stepSeconds = stepSecondsOf(before);
  const again = diagnose(before).find(({ cause }) => cause === first.cause) ?? first;
  return { ...row, stepSeconds, forecast: forecastOf(again, stepSeconds), measured: stepSecondsOf(after) };
}

const stepSecondsOf = (evidence: Evidence): number => measuresOf(evidence)?.pace.stepSeconds ?? Number.NaN;

const saidBy = ({ remedy }: Verdict): string => (remedy === undefined ? '' : `: ${remedy.text}`);

function forecastOf({ gain }: Verdict, stepSeconds: number): NonNullable<Row['forecast']> {
  const { low, expected, high } = gain.seconds;
  const after = (saved: number): number => stepSeconds - saved / STEPS;
  return { low: after(high), expected: after(expected), high: after(low) };
}

const HEAD = ['script', 'verdict', 'right', 's a step', 'forecast', 'measured with the remedy'];

const lineOf = ({ name, isRight, verdict, stepSeconds, forecast, measured }: Row): readonly string[] => [
  name,
  verdict,
  isRight ? 'yes' : 'NO',
  stepSeconds.toFixed(3),
  forecast === undefined
    ? ''
    : `${forecast.expected.toFixed(3)} (${forecast.low.toFixed(3)} to ${forecast.high.toFixed(3)})`,
  measured === undefined ? '' : measured.toFixed(3),
];

await runCommand(USAGE, main);
