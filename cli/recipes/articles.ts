/**
 * `npm run articles [-- NAME…]`: the workloads of the articles that this project began with (docs/articles.md), small, for
 * some steps each on this machine. Prints a table; `--write` puts its rows into the page.
 */
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { ec2OnDemandUsd } from '@tidewheel/catalog/catalog.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import { ENVIRONMENTS, environmentPython } from './environments.ts';
import { lastJsonLine, runProgram } from './program.ts';
import { writeTable } from './results-page.ts';
import {
  isSmallFiles,
  measureSmallFiles,
  SMALL_FILES,
  type SmallFiles,
  smallFilesTable,
} from './small-files.ts';
import { markdownTable } from './table.ts';

const HELP = `npm run articles [-- OPTIONS] [NAME...]
  --steps N  steps of each, the first fifth not counted (30; the deepfm ones take 100 or more)
  --side N   height and width of the images (56)
  --batch N  samples of a step, over all hosts (16)
  --files N  of 5 KB, for small-files and small-files-packed (2000; the article: 2,000,000)
  --write    put the tables into docs/research/training.md
  --list     print the names
ray-post and spot-post train an article's own model at its own size (side 224; batch 64 and 128), for 3 and 11 steps
unless --steps says otherwise; they first print the memory and the seconds that this takes, and stop where the memory
is not there. They and loader-workers-7 run only where they are named.
Those of ray, tf and horovod need environments of their own (.venv-ray and so on), which are made on demand.`;

const count = (most: number, least = 1) =>
  z
    .string()
    .refine(
      (text) => /^[1-9]\d{0,6}$/.test(text) && Number(text) <= most && Number(text) >= least,
      `give a number from ${least} to ${most}`,
    );

/** Two batches of training/measure/small_files/train.py: the first one tells no rate. */
const LEAST_FILES = 128;

const spec = {
  schema: z.object({
    steps: count(100_000).optional(),
    side: count(4_096).optional(),
    batch: count(1_000_000).optional(),
    files: count(1_000_000, LEAST_FILES).transform(Number).prefault('2000'),
    write: z.boolean().default(false),
    list: z.boolean().default(false),
  }),
  positionals: ['NAME...'],
} as const;

const root = path.resolve(import.meta.dirname, '..', '..');
const PROGRAM = path.join(root, 'training', 'measure', 'articles.py');
const PYTHON = path.join(root, '.venv', 'bin', 'python');
const WORKLOAD_SECONDS = 1_200;
/** The program itself ends one that takes thirty times the seconds that it said. */
const ARTICLE_SECONDS = 7 * 86_400;

const listSchema = z.array(
  z.object({
    name: z.string(),
    environment: z.enum(ENVIRONMENTS),
    least_steps: z.int(),
    named_only: z.boolean(),
  }),
);
type Workload = z.output<typeof listSchema>[number];

const rowSchema = z.object({
  name: z.string(),
  strategy: z.string(),
  hosts: z.number(),
  steps: z.number(),
  step_seconds: z.number(),
  samples_per_second: z.number(),
  waits: z.number().nullable(),
});
type Row = z.output<typeof rowSchema>;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function workloads(): Promise<readonly Workload[]> {
  const { code, output } = await runProgram(PYTHON, [PROGRAM], { seconds: 60 });
  if (code !== 0)
    throw new Error(`the workloads cannot be listed; has npm run setup -- --develop run?\n${output}`);
  return listSchema.parse(JSON.parse(lastJsonLine(output) ?? '[]'));
}

/** The row, or undefined after saying what went wrong. */
async function measure(workload: Workload, size: readonly string[]): Promise<Row | undefined> {
  const { name, environment, named_only } = workload;
  try {
    const python = await environmentPython(root, environment, print);
    print(`${name} ...`);
    const { code, output } = await runProgram(PYTHON, [PROGRAM, name, '--python', python, ...size], {
      seconds: named_only ? ARTICLE_SECONDS : WORKLOAD_SECONDS,
      onLine: (line) => lastJsonLine(line) ?? print(line),
    });
    const line = lastJsonLine(output);
    if (code === 0 && line !== undefined) return rowSchema.parse(JSON.parse(line));
  } catch (error: unknown) {
    print(`${name}: ${messageOf(error)}`);
  }
  return undefined;
}

const HEAD = [
  'workload',
  'strategy',
  'hosts',
  'steps',
  'seconds a step',
  'samples/s',
  'waits for data',
  '$/M samples',
];

/** What each host says that it is. A price for comparison: no host of this type trained. */
const HOURLY_USD = ec2OnDemandUsd('c5.large', 'us-east-1') ?? 0;
const usdAMillion = ({ hosts, samples_per_second }: Row): number =>
  (((HOURLY_USD * hosts) / 3600) * 1e6) / samples_per_second;

const tableOf = (rows: readonly Row[]): string =>
  markdownTable(
    HEAD,
    rows.map((row) => [
      `\`${row.name}\``,
      `\`${row.strategy}\``,
      String(row.hosts),
      String(row.steps),
      row.step_seconds.toFixed(4),
      row.samples_per_second.toFixed(1),
      row.waits === null ? '' : `${(100 * row.waits).toFixed(0)} %`,
      String(Number(usdAMillion(row).toPrecision(2))),
    ]),
  );

type Values = z.output<typeof spec.schema>;

async function measureWorkloads(chosen: readonly Workload[], values: Values): Promise<number> {
  const rows: Row[] = [];
  for (const workload of chosen) {
    const given = Number(values.steps ?? (workload.named_only ? Number.POSITIVE_INFINITY : 30));
    const isFew = given < workload.least_steps;
    if (isFew)
      print(`${workload.name}: ${workload.least_steps} steps, not ${given}, for fewer tell no rate of it`);
    const steps = isFew ? String(workload.least_steps) : values.steps;
    const options = Object.entries({ steps, side: values.side, batch: values.batch });
    const size = options.flatMap(([name, of]) => (of === undefined ? [] : [`--${name}`, of]));
    const row = await measure(workload, size);
    if (row !== undefined) rows.push(row);
  }
  if (rows.length > 0) show(tableOf(rows), values, 'articles', ['steps', 'side', 'batch']);
  return chosen.length - rows.length;
}

async function measureFiles(names: readonly SmallFiles[], values: Values): Promise<void> {
  if (names.length === 0) return;
  print(`${names.join(', ')} ...`);
  const rows = await measureSmallFiles(root, names, values.files);
  show(smallFilesTable(rows), values, 'small-files', ['files']);
}

function show(table: string, values: Values, name: string, options: readonly (keyof Values)[]): void {
  const named = options.filter((option) => values[option] !== undefined);
  const given = named.map((option) => `--${option} ${values[option]}`).join(' ') || 'default sizes';
  const day = new Date().toISOString().slice(0, 10);
  const [, load = 0] = loadavg();
  const how = `\`${given}\`, ${day}, ${availableParallelism()} cores at a load of ${load.toFixed(0)}.`;
  print(`\n${table}\n\n${how}`);
  if (values.write)
    writeTable(path.join(root, 'docs', 'research', 'training.md'), `${table}\n\n${how}`, name);
}

async function main(args: readonly string[]): Promise<number> {
  const known = await workloads();
  const names = [...known.map(({ name }) => name), ...SMALL_FILES];
  const check = (given: readonly string[]) =>
    given
      .filter((name) => !names.includes(name))
      .map((name) => `there is no workload "${name}"; there are ${names.join(', ')}`);
  const { values, positionals } = readCommandLine(args, { ...spec, check });
  const named = new Set(known.filter(({ named_only }) => named_only).map(({ name }) => name));
  const chosen = names.filter((name) =>
    positionals.length === 0 ? values.list || !named.has(name) : positionals.includes(name),
  );
  if (values.list) {
    print(chosen.join('\n'));
    return 0;
  }
  const failed = await measureWorkloads(
    known.filter(({ name }) => chosen.includes(name)),
    values,
  );
  await measureFiles(chosen.filter(isSmallFiles), values);
  return failed === 0 ? 0 : 1;
}

await runCommand(HELP, main);
