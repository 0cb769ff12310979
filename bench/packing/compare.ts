/**
 * Our packing beside what people use today, on the same made-up S3, in one run: `npm run bench:packing`. Outputs are
 * compared, on a smaller set of the same form, before anything is timed.
 */
import os from 'node:os';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { competitors, type Tool } from './competitors.ts';
import { BenchServer, type Measured, measure, type Seen } from './measuring.ts';
import { peerTools } from './peer-tools.ts';
import { type BenchSet, SETS } from './sets.ts';

const USAGE = `npm run bench:packing -- [options]
  --set A        A, B, C, D, E, several with commas, or all (docs/research/benchmarks.md)
  --rounds 3     of ours      --peer-rounds 2   of the others
  --only LIST    tools whose names hold one of these words
  --files N      of the set, instead of all: with few, the start of a program weighs more
  --checksum crc32   that the objects have, or crc64nvme, or composite
  --json         the figures as data`;
const whole = z.coerce.number('give 1, 2, 3, ...').int('give 1, 2, 3, ...').min(1, 'give 1, 2, 3, ...');
const setNames = [...Object.keys(SETS), 'all'].join(', ');

type Options = z.output<typeof spec.schema>;
const spec = {
  options: {
    set: { type: 'string', default: 'A' },
    rounds: { type: 'string', default: '3' },
    'peer-rounds': { type: 'string', default: '2' },
    only: { type: 'string' },
    files: { type: 'string' },
    checksum: { type: 'string', default: 'crc32' },
    json: { type: 'boolean', default: false },
  },
  schema: z.object({
    set: z
      .string()
      .refine((text) => text.split(',').every((name) => name === 'all' || name in SETS), `give ${setNames}`),
    rounds: whole,
    'peer-rounds': whole,
    only: z.string().optional(),
    files: whole.optional(),
    checksum: z.enum(['crc32', 'crc64nvme', 'composite'], 'give crc32, crc64nvme or composite'),
    json: z.boolean(),
  }),
} as const;

/** What is measured, and how often. */
interface Comparison {
  readonly tools: readonly Tool[];
  readonly values: Options;
}

interface Figures {
  readonly tool: string;
  readonly rounds: number;
  readonly filesPerSecond: number;
  /** Median; the process's start is in it. */
  readonly cpuMicrosecondsPerFile: number;
  readonly cpuSpread: readonly [number, number];
  /** CPU of a run over a single file. */
  readonly startMilliseconds: number;
  readonly peakMegabytes: number;
  readonly requests: number;
  readonly outputBytes: number;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** As docs/research/benchmarks.md has it. */
function markdown(title: string, load: readonly number[], figures: readonly Figures[]): string {
  const head =
    '| tool | files/s | CPU us per file | least to most | start, ms of CPU | peak MB | requests | output bytes |';
  const rows = figures.map(
    (one) =>
      `| ${one.tool} | ${one.filesPerSecond} | ${one.cpuMicrosecondsPerFile} | ${one.cpuSpread.join(' to ')} (${one.rounds}) | ` +
      `${one.startMilliseconds} | ${one.peakMegabytes} | ${one.requests} | ${one.outputBytes} |`,
  );
  return [
    `${title}; load of the machine before and after: ${load.join(', ')}`,
    '',
    head,
    '|---|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

const median = (all: readonly number[]): number => {
  const sorted = all.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
};

interface Served {
  /** Name of the set. */
  readonly name: string;
  readonly files: number;
  readonly checksum: Options['checksum'];
}

async function withServer<T>(
  { name, files, checksum }: Served,
  use: (server: BenchServer) => Promise<T>,
): Promise<T> {
  const server = await BenchServer.start(name, files, checksum);
  try {
    return await use(server);
  } finally {
    server.stop();
  }
}

/** Every member of every output, digest by digest. */
async function proveEqual(server: BenchServer, set: BenchSet, tools: readonly Tool[]): Promise<void> {
  await server.keepShards(true);
  let expected: Map<string, string> | undefined;
  for (const tool of tools) {
    if (tool.output === undefined) continue;
    await measure(server, tool, { ...set, filesPerShard: Math.ceil(set.compared / 4) * 2 });
    const contents = await server.contentsOf(tool.output);
    if (contents.size !== set.compared)
      throw new Error(`${tool.name} packed ${contents.size} of ${set.compared} files`);
    expected ??= contents;
    for (const [name, digest] of expected)
      if (contents.get(name) !== digest) throw new Error(`${tool.name} holds other bytes for ${name}`);
  }
}

function figuresOf(tool: Tool, all: readonly Measured[], set: BenchSet, { seen, start }: Context): Figures {
  const { files } = set;
  const perFile = all.map(({ cpuSeconds }) => (cpuSeconds / files) * 1e6);
  const output = seen.stored.filter(([key]) => tool.output !== undefined && key.startsWith(tool.output));
  return {
    tool: tool.name,
    rounds: all.length,
    filesPerSecond: Math.round(files / median(all.map(({ seconds }) => seconds))),
    cpuMicrosecondsPerFile: Math.round(median(perFile)),
    cpuSpread: [Math.round(Math.min(...perFile)), Math.round(Math.max(...perFile))],
    startMilliseconds: Math.round(start.cpuSeconds * 1_000),
    peakMegabytes: Math.round(Math.max(...all.map(({ peakBytes }) => peakBytes)) / 1e6),
    requests: Object.values(seen.requests).reduce((sum, count) => sum + count, 0),
    outputBytes: output.reduce((sum, [, size]) => sum + size, 0),
  };
}

interface Context {
  readonly seen: Seen;
  readonly start: Measured;
}

interface Run {
  readonly tool: Tool;
  readonly round: number;
}

/** Rounds of all tools in random order, so that no tool has the quiet part of the machine's time. */
function runsOf({ tools, values }: Comparison): Run[] {
  return tools
    .flatMap((tool): Run[] =>
      Array.from({ length: tool.isOurs ? values.rounds : values['peer-rounds'] }, (_, round) => ({
        tool,
        round,
      })),
    )
    .map((run) => ({ run, at: run.round + Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ run }) => run);
}

async function measureSet(name: string, set: BenchSet, comparison: Comparison): Promise<Figures[]> {
  const { tools, values } = comparison;
  const { checksum } = values;
  say(`set ${name}: comparing outputs of ${set.compared} files`);
  await withServer({ name, files: set.compared, checksum }, (server) => proveEqual(server, set, tools));
  const starts = new Map<Tool, Measured>();
  await withServer({ name, files: 2, checksum }, async (server) => {
    for (const tool of tools) starts.set(tool, await measure(server, tool, set));
  });
  const measured = new Map<Tool, Measured[]>(tools.map((tool) => [tool, []]));
  const seen = new Map<Tool, Seen>();
  await withServer({ name, files: set.files, checksum }, async (server) => {
    for (const { tool, round } of runsOf(comparison)) {
      const one = await measure(server, tool, set);
      say(
        `set ${name}, round ${round + 1}: ${tool.name} ${((one.cpuSeconds / set.files) * 1e6).toFixed(1)} us`,
      );
      measured.get(tool)?.push(one);
      seen.set(tool, await server.seen());
    }
  });
  return tools.map((tool) => {
    const start = starts.get(tool);
    const all = measured.get(tool) ?? [];
    if (start === undefined) throw new Error(`${tool.name} was never started`);
    return figuresOf(tool, all, set, { seen: seen.get(tool) ?? { requests: {}, stored: [] }, start });
  });
}

async function compare(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, spec);
  const wanted = values.only?.split(',');
  const tools = competitors(await peerTools()).filter(
    ({ name }) => wanted === undefined || wanted.some((part) => name.includes(part)),
  );
  const machine = { processor: os.cpus()[0]?.model, cores: os.availableParallelism() };
  const results: object[] = [];
  for (const name of values.set === 'all' ? Object.keys(SETS) : values.set.split(',')) {
    const full = SETS[name];
    if (full === undefined) continue;
    const files = values.files ?? full.files;
    const title = files === full.files ? full.title : `${files} files of: ${full.title}`;
    const set = { ...full, title, files, compared: Math.min(files, full.compared) };
    const loadBefore = os.loadavg()[0] ?? 0;
    const figures = await measureSet(name, set, { tools, values });
    const load = [loadBefore, os.loadavg()[0] ?? 0].map((one) => Number(one.toFixed(1)));
    results.push({ set: name, title: set.title, files: set.files, load, figures });
    if (!values.json) process.stdout.write(`${markdown(set.title, load, figures)}\n`);
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ machine, results }, undefined, 1)}\n`);
  return 0;
}

await runCommand(USAGE, compare);
