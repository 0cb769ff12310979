/**
 * `npm run recipes [-- --all] [NAME…]`: every strategy on this machine, several hosts each, once undisturbed and once
 * with a seeded interruption. Prints a table; `--write` puts it into docs/strategies.md.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ENVIRONMENTS, type EnvironmentName, environmentPython } from './environments.ts';
import { lastJsonLine, runProgram } from './program.ts';
import { type Row, rowSchema, tableOf } from './table.ts';

const USAGE = `npm run recipes [-- OPTIONS] [NAME...]
  --all      also those that need an environment of their own (.venv-tf, .venv-ray: made on demand)
  --seed N   seed of the interruptions (7)
  --write    put the table into docs/strategies.md
  --list     print the names`;

const root = path.resolve(import.meta.dirname, '..', '..');
const MEASURE = path.join(root, 'training', 'measure', 'measure_recipe.py');
const PAGE = path.join(root, 'docs', 'strategies.md');
const MARKS = ['<!-- table: begin -->', '<!-- table: end -->'] as const;
/** Undisturbed, interrupted and resumed, each within its own limit. */
const RECIPE_SECONDS = 900;

interface Entry {
  readonly name: string;
  readonly environment: EnvironmentName;
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function entries(): Promise<readonly Entry[]> {
  const { code, output } = await runProgram(projectPython(), [MEASURE, '--list'], { seconds: 60 });
  if (code !== 0) throw new Error(`the recipes cannot be listed:\n${output}`);
  const said: unknown = JSON.parse(lastJsonLine(output) ?? '[]');
  if (!Array.isArray(said)) throw new Error(`the list of recipes is not a list: ${output}`);
  return said.map(entryOf);
}

function entryOf(said: unknown): Entry {
  if (typeof said === 'object' && said !== null && 'name' in said && 'environment' in said) {
    const environment = ENVIRONMENTS.find((each) => each === said.environment);
    if (typeof said.name === 'string' && environment !== undefined) return { name: said.name, environment };
  }
  throw new Error(`not a recipe of this version: ${JSON.stringify(said)}`);
}

function projectPython(): string {
  const python = path.join(root, '.venv', 'bin', 'python');
  if (!existsSync(python)) throw new Error('.venv is missing: run "npm run setup -- --develop" first');
  return python;
}

/** The row, or undefined after saying what went wrong. */
async function measure(entry: Entry, seed: string): Promise<Row | undefined> {
  const python = await environmentPython(root, entry.environment, print);
  print(`\n${entry.name}: undisturbed, interrupted, resumed ...`);
  const args = [MEASURE, entry.name, '--python', python, '--seed', seed];
  const { code, output } = await runProgram(projectPython(), args, { seconds: RECIPE_SECONDS });
  const line = lastJsonLine(output);
  if (code !== 0 && line === undefined) {
    print(output.trimEnd());
    return undefined;
  }
  return rowSchema.parse(JSON.parse(line ?? 'null'));
}

function writeTable(table: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const [begin, end] = [page.indexOf(MARKS[0]), page.indexOf(MARKS[1])];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has lost its marks ${MARKS.join(' and ')}`);
  writeFileSync(PAGE, `${page.slice(0, begin + MARKS[0].length)}\n${table}\n${page.slice(end)}`);
}

function told() {
  return parseArgs({
    allowPositionals: true,
    options: {
      all: { type: 'boolean', default: false },
      seed: { type: 'string', default: '7' },
      write: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
}

/** The recipes that the command line names; without names the light ones, or all. */
function choose(
  known: readonly Entry[],
  names: readonly string[],
  all: boolean,
): { chosen: readonly Entry[]; unknown: readonly string[] } {
  const named = (entry: Entry): boolean => names.includes(entry.name);
  const light = (entry: Entry): boolean => all || entry.environment === '';
  return {
    chosen: known.filter(names.length > 0 ? named : light),
    unknown: names.filter((name) => !known.some((entry) => entry.name === name)),
  };
}

async function measureAll(chosen: readonly Entry[], seed: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const entry of chosen) {
    const row = await measure(entry, seed);
    if (row) rows.push(row);
  }
  return rows;
}

async function main(): Promise<number> {
  const { values, positionals } = told();
  if (values.help) {
    print(USAGE);
    return 0;
  }
  const { chosen, unknown } = choose(await entries(), positionals, values.all);
  if (unknown.length > 0 || !/^\d{1,9}$/.test(values.seed)) {
    print(`${USAGE}\nunknown: ${unknown.join(', ') || `--seed ${values.seed}`}`);
    return 2;
  }
  if (values.list) {
    print(chosen.map(({ name }) => name).join('\n'));
    return 0;
  }
  const rows = await measureAll(chosen, values.seed);
  const table = tableOf(rows);
  print(`\n${table}`);
  const failed = chosen.length - rows.filter((row) => row.is_within).length;
  if (values.write && failed === 0) writeTable(table);
  if (failed > 0) print(`\n${failed} of ${chosen.length} did not do what they must`);
  return failed > 0 ? 1 : 0;
}

process.exitCode = await main();
