/**
 * Our packing beside what people use today, on the same made-up S3, in one run: `npm run bench:packing`. Outputs are
 * compared, on a smaller set of the same form, before anything is timed.
 */
import os from 'node:os';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { markdownTable } from '../../cli/recipes/table.ts';
import { competitors, peerTools, type Tool } from './competitors.ts';
import { BenchServer, type Measured, measure, type Seen } from './measuring.ts';
import { type BenchSet, SETS } from './sets.ts';

const USAGE = `npm run bench:packing -- [options]
  --set A        A, B, D, E, several with commas, or all (docs/research/benchmarks.md)
  --rounds 3     of ours      --peer-rounds 2   of the others
  --only LIST    tools whose names hold one of these words
  --files N      of the set, instead of all: with few, the start of a program weighs more
  --checksum crc32   that the objects have, or crc64nvme, or composite`;
const setNames = [...Object.keys(SETS), 'all'].join(', ');

type Options = z.output<typeof schema>;
const schema = z.object({
  set: z
    .string()
    .refine((text) => text.split(',').every((name) => name === 'all' || name in SETS), `give ${setNames}`)
    .prefault('A'),
  rounds: wholeNumber(1).default(3),
  'peer-rounds': wholeNumber(1).default(2),
  only: z.string().optional(),
  files: wholeNumber(1).optional(),
  checksum: z
    .enum(['crc32', 'crc64nvme', 'composite'], 'give crc32, crc64nvme or composite')
    .prefault('crc32'),
});

const HEAD = [
  'tool',
  'files/s',
  'CPU us per file',
  'least to most',
  'start, ms of CPU',
  'peak MB',
  'requests',
  'output bytes',
];

const say = (text: string): void => void process.stderr.write(`${text}\n`);

const median = (all: readonly number[]): number => {
  const sorted = all.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
};

async function withServer<T>(
  { name, files, checksum }: { name: string; files: number; checksum: Options['checksum'] },
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
  await server.keepShards();
  let expected: Map<string, string> | undefined;
  for (const tool of tools) {
    await measure(server, tool, { ...set, filesPerShard: Math.ceil(set.compared / 4) * 2 });
    const contents = await server.contentsOf(tool.output);
    if (contents.size !== set.compared)
      throw new Error(`${tool.name} packed ${contents.size} of ${set.compared} files`);
    expected ??= contents;
    for (const [name, digest] of expected)
      if (contents.get(name) !== digest) throw new Error(`${tool.name} holds other bytes for ${name}`);
  }
}

interface Results {
  readonly all: Measured[];
  seen: Seen;
  /** A run over two files. */
  readonly start: Measured;
}

function rowOf({ name, output }: Tool, files: number, { all, seen, start }: Results): string[] {
  const perFile = all.map(({ cpuSeconds }) => Math.round((cpuSeconds / files) * 1e6));
  const stored = seen.stored.filter(([key]) => key.startsWith(output));
  return [
    name,
    (files / median(all.map(({ seconds }) => seconds))).toFixed(0),
    median(perFile).toFixed(0),
    `${Math.min(...perFile)} to ${Math.max(...perFile)} (${all.length})`,
    (start.cpuSeconds * 1_000).toFixed(0),
    (Math.max(...all.map(({ peakBytes }) => peakBytes)) / 1e6).toFixed(0),
    String(Object.values(seen.requests).reduce((sum, count) => sum + count, 0)),
    String(stored.reduce((sum, [, size]) => sum + size, 0)),
  ];
}

/** Rounds of all tools in random order, so that no tool has the quiet part of the machine's time. */
const turnsOf = (tools: readonly Tool[], values: Options): readonly Tool[] =>
  tools
    .flatMap((tool) =>
      Array.from({ length: tool.isOurs ? values.rounds : values['peer-rounds'] }, (_, round) => ({
        tool,
        at: round + Math.random(),
      })),
    )
    .toSorted((a, b) => a.at - b.at)
    .map(({ tool }) => tool);

async function measureSet(name: string, set: BenchSet, tools: readonly Tool[], values: Options) {
  const { checksum } = values;
  say(`set ${name}: comparing outputs of ${set.compared} files`);
  await withServer({ name, files: set.compared, checksum }, (server) => proveEqual(server, set, tools));
  const results = new Map<Tool, Results>();
  await withServer({ name, files: 2, checksum }, async (server) => {
    for (const tool of tools)
      results.set(tool, {
        all: [],
        seen: { requests: {}, stored: [] },
        start: await measure(server, tool, set),
      });
  });
  await withServer({ name, files: set.files, checksum }, async (server) => {
    for (const tool of turnsOf(tools, values)) {
      const one = await measure(server, tool, set);
      say(`set ${name}: ${tool.name} ${((one.cpuSeconds / set.files) * 1e6).toFixed(1)} us`);
      const result = results.get(tool);
      result?.all.push(one);
      if (result) result.seen = await server.seen();
    }
  });
  return [...results].map(([tool, result]) => rowOf(tool, set.files, result));
}

await runCommand(USAGE, async (args) => {
  const { values } = readCommandLine(args, { schema });
  const wanted = values.only?.split(',');
  const tools = competitors(await peerTools()).filter(
    ({ name }) => wanted === undefined || wanted.some((part) => name.includes(part)),
  );
  for (const name of values.set === 'all' ? Object.keys(SETS) : values.set.split(',')) {
    const full = SETS[name];
    if (full === undefined) continue;
    const files = values.files ?? full.files;
    const set = { ...full, files, compared: Math.min(files, full.compared) };
    const before = os.loadavg()[0]?.toFixed(1);
    const rows = await measureSet(name, set, tools, values);
    process.stdout.write(
      `${files} of the set: ${full.title}; load of the machine before and after: ${before}, ${os.loadavg()[0]?.toFixed(1)}\n\n` +
        `${markdownTable(HEAD, rows)}\n`,
    );
  }
  return 0;
});
