/** Our packing against a made-up S3, by sets of files: `npm run bench:packing`. */
import os from 'node:os';
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { markdownTable } from '../../cli/recipes/table.ts';
import { type Measured, median } from '../measured-process.ts';
import { inWorkFolder } from '../work-folder.ts';
import { bundle } from './bundle.ts';
import { BenchServer, pack, type Seen } from './measuring.ts';
import { SETS } from './sets.ts';

const USAGE = `npm run bench:packing -- [options]
  --set A        A, B, D, E, several with commas, or all (docs/research/benchmarks.md)
  --rounds 3
  --files N      of the set, instead of all: with few, the start of the program weighs more
  --checksum crc32   that the objects have, or crc64nvme, or composite`;
const setNames = [...Object.keys(SETS), 'all'].join(', ');

const schema = z.object({
  set: z
    .string()
    .refine((text) => text.split(',').every((name) => name === 'all' || name in SETS), `give ${setNames}`)
    .prefault('A'),
  rounds: wholeNumber(1).default(3),
  files: wholeNumber(1).optional(),
  checksum: z
    .enum(['crc32', 'crc64nvme', 'composite'], 'give crc32, crc64nvme or composite')
    .default('crc32'),
});
type Options = z.output<typeof schema>;

const HEAD = [
  'set',
  'files/s',
  'CPU us per file',
  'least to most',
  'start, ms of CPU',
  'peak MB',
  'requests',
  'output bytes',
];

interface Results {
  readonly all: readonly Measured[];
  readonly seen: Seen;
  /** A run over two files. */
  readonly start: Measured;
}

async function played(
  program: string,
  { name, files, rounds }: { readonly name: string; readonly files: number; readonly rounds: number },
  checksum: Options['checksum'],
) {
  const server = await BenchServer.start(name, files, checksum);
  try {
    const all: Measured[] = [];
    for (let round = 0; round < rounds; round += 1) all.push(await pack(server, program));
    return { all, seen: await server.seen() };
  } finally {
    server.stop();
  }
}

function rowOf(title: string, files: number, { all, seen, start }: Results): string[] {
  const perFile = all.map(({ cpuSeconds }) => Math.round((cpuSeconds / files) * 1e6));
  const shards = seen.stored.filter(([key]) => key.includes('/shards/'));
  return [
    title,
    (files / median(all.map(({ seconds }) => seconds))).toFixed(0),
    median(perFile).toFixed(0),
    `${Math.min(...perFile)} to ${Math.max(...perFile)} (${all.length})`,
    (start.cpuSeconds * 1_000).toFixed(0),
    (Math.max(...all.map(({ peakBytes }) => peakBytes)) / 1e6).toFixed(0),
    String(Object.values(seen.requests).reduce((sum, count) => sum + count, 0)),
    String(shards.reduce((sum, [, size]) => sum + size, 0)),
  ];
}

await runCommand(USAGE, async (args) => {
  const { set, rounds, checksum, ...values } = readCommandLine(args, { schema }).values;
  await inWorkFolder('packing', async (folder) => {
    const program = bundle(path.join(import.meta.dirname, 'ours.ts'), folder);
    const before = os.loadavg()[0]?.toFixed(1);
    const rows: string[][] = [];
    for (const [name, { title, files: all }] of Object.entries(SETS)) {
      if (set !== 'all' && !set.split(',').includes(name)) continue;
      const files = values.files ?? all;
      const [start] = (await played(program, { name, files: 2, rounds: 1 }, checksum)).all;
      const results = await played(program, { name, files, rounds }, checksum);
      if (start) rows.push(rowOf(`${files} of ${name}: ${title}`, files, { ...results, start }));
    }
    console.log(`load of the machine before and after: ${before}, ${os.loadavg()[0]?.toFixed(1)}\n`);
    console.log(markdownTable(HEAD, rows));
  });
  return 0;
});
