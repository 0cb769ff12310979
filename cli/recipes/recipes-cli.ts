/**
 * `npm run recipes [-- --all] [NAME…]`: every strategy on this machine, several hosts each, once undisturbed and once
 * with a seeded interruption. Prints a table; `--write` puts it into docs/research/training.md.
 */
import { existsSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import { ENVIRONMENTS, environmentPython } from './environments.ts';
import { lastJsonLine, runProgram } from './program.ts';
import { writeTable } from './results-page.ts';
import { type Row, recipeTable, rowSchema } from './table.ts';

const HELP = `npm run recipes [-- OPTIONS] [NAME...]
  --all      also those that need an environment of their own (.venv-tf, .venv-ray, .venv-horovod: made on demand)
  --seed N   seed of the interruptions (7)
  --prepare  only make the environments
  --write    put the table into docs/research/training.md; with --all, as the page has a row for each
  --list     print the names`;

const spec = {
  schema: z.object({
    all: z.boolean().default(false),
    seed: z
      .string()
      .regex(/^\d{1,9}$/, 'give a number of up to nine digits')
      .prefault('7'),
    prepare: z.boolean().default(false),
    write: z.boolean().default(false),
    list: z.boolean().default(false),
  }),
  positionals: ['NAME...'],
} as const;

const root = path.resolve(import.meta.dirname, '..', '..');
const MEASURE = path.join(root, 'training', 'measure', 'measure_recipe.py');
/** Undisturbed, interrupted and resumed, each within its own limit. */
const RECIPE_SECONDS = 1500;

const listSchema = z.array(z.object({ name: z.string(), environment: z.enum(ENVIRONMENTS) }));
const WRITE_ALONE = '--write needs --all and no names: the rows of the others would be lost';

type Values = z.output<typeof spec.schema>;
type Entry = z.output<typeof listSchema>[number];

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function entries(): Promise<readonly Entry[]> {
  const { code, output } = await runProgram(projectPython(), [MEASURE, '--list'], { seconds: 60 });
  if (code !== 0) throw new Error(`the recipes cannot be listed:\n${output}`);
  return listSchema.parse(JSON.parse(lastJsonLine(output) ?? '[]'));
}

function projectPython(): string {
  const python = path.join(root, '.venv', 'bin', 'python');
  if (!existsSync(python)) throw new Error('.venv is missing: run "npm run setup -- --develop" first');
  return python;
}

/** The row, or undefined after saying what went wrong. */
async function measure(entry: Entry, seed: string): Promise<Row | undefined> {
  try {
    const python = await environmentPython(root, entry.environment, print);
    print(`\n${entry.name}: undisturbed, interrupted, resumed ...`);
    const args = [MEASURE, entry.name, '--python', python, '--seed', seed];
    const { code, output } = await runProgram(projectPython(), args, { seconds: RECIPE_SECONDS });
    const line = lastJsonLine(output);
    if (line !== undefined && (code === 0 || code === 1)) {
      const row = rowSchema.parse(JSON.parse(line));
      print(`${entry.name}: ${row.is_within ? 'done' : 'NOT as it must be'} in ${row.seconds} s`);
      return row;
    }
    print(output.trimEnd());
  } catch (error: unknown) {
    // One environment that cannot be made is no reason to leave the others unmeasured.
    print(`${entry.name}: ${messageOf(error)}`);
  }
  return undefined;
}

/** The recipes that the command line names; without names the light ones, or all. */
function choose(known: readonly Entry[], names: readonly string[], all: boolean): readonly Entry[] {
  if (names.length > 0) return known.filter(({ name }) => names.includes(name));
  return known.filter(({ environment }) => all || environment === '');
}

function unknownIn(names: readonly string[], known: readonly Entry[]): readonly string[] {
  const there = known.map(({ name }) => name);
  return names
    .filter((name) => !there.includes(name))
    .map((name) => `there is no recipe "${name}"; there are ${there.join(', ')}`);
}

async function main(args: readonly string[]): Promise<number> {
  const known = await entries();
  const check = (names: readonly string[], typed: Values | undefined) => [
    ...unknownIn(names, known),
    ...(typed?.write && (!typed.all || names.length > 0) ? [WRITE_ALONE] : []),
  ];
  const { values, positionals } = readCommandLine(args, { ...spec, check });
  const chosen = choose(known, positionals, values.all);
  if (values.list) {
    print(chosen.map(({ name }) => name).join('\n'));
    return 0;
  }
  if (!values.prepare) return measureAll(chosen, values);
  for (const name of new Set(chosen.map(({ environment }) => environment)))
    await environmentPython(root, name, print);
  return 0;
}

async function measureAll(chosen: readonly Entry[], { seed, write }: Values): Promise<number> {
  const started = Date.now();
  const rows: Row[] = [];
  for (const entry of chosen) {
    const row = await measure(entry, seed);
    if (row) rows.push(row);
  }
  const table = `${recipeTable(rows)}\n\n${circumstances(seed, started)}`;
  print(`\n${table}`);
  const failed = chosen.length - rows.filter((row) => row.is_within).length;
  if (failed > 0) print(`\n${failed} of ${chosen.length} did not do what they must`);
  if (write && failed === 0) writeTable(path.join(root, 'docs', 'research', 'training.md'), table);
  if (write && failed > 0) print('the page is left as it is');
  return failed > 0 ? 1 : 0;
}

/** What the seconds of the table compare with. */
function circumstances(seed: string, started: number): string {
  const minutes = ((Date.now() - started) / 60_000).toFixed(0);
  const [, , load = 0] = loadavg();
  return (
    `One run of ${minutes} min, seed ${seed}, ${new Date(started).toISOString().slice(0, 10)}, ` +
    `${availableParallelism()} cores, load over the last 15 min ${load.toFixed(1)}.`
  );
}

await runCommand(HELP, main);
