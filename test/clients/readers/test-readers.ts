/** Packs a tree in each format, lets each library read it, and prints how the samples compare. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runProgram } from '../../../cli/recipes/program.ts';
import { step } from '../../../cli/setup/program.mjs';
import { type EnvironmentName, environmentOf, isOffered } from '../environments/environments.ts';
import { type Comparison, compare } from './compare.ts';
import { ABSENT, type Reader } from './readers.ts';
import { type SealedTree, sealTree, type TriedFormat } from './sealed-tree.ts';
import { sealVersion } from './sealed-version.ts';

/** Ray takes a minute to start on a busy machine. */
const READER_SECONDS = 600;

interface Row {
  readonly reader: Reader;
  readonly format: TriedFormat;
  readonly comparison: Comparison;
}

/** Prints a table. @returns how many readers did what was expected of them, and how many did not */
export async function testReaders(
  readers: readonly Reader[],
  print: (text: string) => void,
): Promise<{ readonly passed: number; readonly failed: number }> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-readers-'));
  const environments = new Environments();
  const trees = new Map<string, SealedTree>();
  const rows: Row[] = [];
  try {
    for (const reader of readers) {
      for (const format of reader.formats) {
        const name = titleOf(reader, format).replaceAll(' ', '-');
        const seal = reader.ofVersion === true ? sealVersion : sealTree;
        const tree = trees.get(name) ?? (await seal(format, path.join(root, name)));
        trees.set(name, tree);
        const python = await environments.python(reader.environment);
        rows.push({ reader, format, comparison: await read(reader, tree, python) });
      }
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  const absent = ABSENT.filter(({ name }) => readers.some((reader) => reader.name === name));
  const offered: (typeof absent)[number][] = [];
  for (const one of absent) if (await isOffered(one.package)) offered.push(one);
  print([...table(rows), ...absent.map(absentLine)].join('\n'));
  for (const { package: name } of offered) print(`✗ ${name} can be installed now: try it`);
  const failed = rows.filter((row) => !isAsExpected(row));
  for (const { reader, format, comparison } of failed) {
    const said = comparison.problems.join('; ') || 'it gives every sample back now: take out "cannot"';
    print(`✗ ${reader.library}, ${format}: ${said}`);
  }
  return { passed: rows.length - failed.length, failed: failed.length + offered.length };
}

const titleOf = ({ ofVersion }: Reader, format: TriedFormat): string =>
  ofVersion === true ? `${format} version` : format;

/** Each is installed when a reader first needs it. */
class Environments {
  readonly #found = new Map<EnvironmentName, string | Error>();

  async python(name: EnvironmentName): Promise<string | Error> {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const made = await step(`Python environment ${name}`, (progress) =>
      environmentOf(name, (line) => progress.detail(line)),
    ).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    this.#found.set(name, made);
    return made;
  }
}

async function read(reader: Reader, tree: SealedTree, python: string | Error): Promise<Comparison> {
  if (python instanceof Error)
    return {
      version: '',
      samples: 0,
      problems: [`not installed: ${python.message.split('\n').at(-1) ?? ''}`],
    };
  return step(`${reader.library}: ${path.basename(tree.folder)}`, async (progress) => {
    const script = path.join(import.meta.dirname, reader.script);
    const ended = await runProgram(python, [script, reader.reader, tree.folder], {
      seconds: READER_SECONDS,
      environment: {
        PATH: process.env['PATH'] ?? '',
        HOME: process.env['HOME'] ?? '',
        // Neither a warning for each process nor a look at the network.
        TF_CPP_MIN_LOG_LEVEL: '3',
        HF_HUB_OFFLINE: '1',
        RAY_USAGE_STATS_ENABLED: '0',
      },
      onLine: (line) => progress.detail(line),
    });
    return compare(ended, tree, reader.byPlace === true);
  });
}

const isEqual = ({ comparison }: Row): boolean => comparison.problems.length === 0;
const isAsExpected = (row: Row): boolean => isEqual(row) === (row.reader.cannot === undefined);

function table(rows: readonly Row[]): string[] {
  const lines = rows.map((row) => {
    const { reader, format, comparison } = row;
    const verdict = isEqual(row)
      ? 'equal'
      : reader.cannot === undefined
        ? `no: ${comparison.problems[0] ?? ''}`
        : `cannot: ${reader.cannot}`;
    const read = reader.ofVersion === true ? `version of \`${format}\`` : `\`${format}\``;
    return `| ${reader.library} | ${comparison.version || '-'} | ${read} | ${comparison.samples || '-'} | ${verdict} |`;
  });
  return ['| read with | version | format | samples | equal |', '|---|---|---|---|---|', ...lines];
}

const absentLine = ({ library, package: name }: (typeof ABSENT)[number]): string =>
  `| ${library} | - | - | - | cannot: \`${name}\` has no release for this Python and machine |`;
