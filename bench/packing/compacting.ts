/**
 * The joining of small generations, alone in a process: `node_modules/.bin/node bench/packing/compacting.ts [options]`.
 */

import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { bundle } from './bundle.ts';
import type { Tool } from './competitors.ts';
import { BenchServer, measureOn } from './measuring.ts';
import { peerTools } from './peer-tools.ts';
import { ALL_SETS } from './sets.ts';

const USAGE = `node_modules/.bin/node bench/packing/compacting.ts [options]

Files arrive in as many turns as there are to be generations and are packed, which is not measured; then a process of
its own joins the generations. Prints as JSON the seconds and CPU seconds that it took, and its peak memory.

  --set compact      files of 100 bytes, or one of bench:packing's sets; the server holds its bytes in memory
  --files 1000000    of all generations together
  --generations 10   to be joined
  --packing '{}'     the declaration's packing as JSON, such as {"shardMegabytes":512}
  --retracted 0      of the files, left out: where counts must be equal, copies of others take their places
  --flags "FLAGS"    of Node.js; default: as the packing functions are deployed`;

const count = z.coerce.number('give a whole number').int('give a whole number');
const spec = {
  options: {
    set: { type: 'string', default: 'compact' },
    packing: { type: 'string', default: '{}' },
    files: { type: 'string', default: '1000000' },
    generations: { type: 'string', default: '10' },
    retracted: { type: 'string', default: '0' },
    flags: { type: 'string', default: '--enable-source-maps --max-semi-space-size=16' },
  },
  schema: z.object({
    set: z.string().refine((name) => name in ALL_SETS, `give ${Object.keys(ALL_SETS).join(', ')}`),
    packing: z.string(),
    files: count.min(2, 'give 2 or more'),
    generations: count.min(2, 'give 2 or more: one alone is not joined'),
    retracted: count.min(0, 'give 0 or more'),
    flags: z.string(),
  }),
} as const;

async function join(args: readonly string[]): Promise<number> {
  const { set, packing, files, generations, retracted, flags } = readCommandLine(args, spec).values;
  const corpus = ALL_SETS[set]?.corpus(files);
  const gone = Array.from({ length: retracted }, (_, index) => corpus?.keyAt(index) ?? '');
  const { folder } = await peerTools();
  const program = (file: string, ...more: string[]): Tool => {
    const made = bundle(path.join(import.meta.dirname, file), path.join(folder, 'bundles'));
    return {
      name: file,
      command: [process.execPath, made, ...more],
      environment: { NODE_OPTIONS: flags },
      output: undefined,
      isOurs: true,
    };
  };
  const server = await BenchServer.start(set, files);
  try {
    const limits = { filesPerShard: 1, isLarge: false };
    await server.keepShards(true);
    for (let turn = 1; turn <= generations; turn += 1) {
      await server.arrive(Math.floor((files * turn) / generations));
      const runId = `bench-${String(turn).padStart(6, '0')}`;
      await measureOn(server, program('ours.ts', 'bench', 'bench', runId, 'seal', packing), limits);
    }
    const { seconds, cpuSeconds, peakBytes } = await measureOn(
      server,
      program('compact.ts', packing, ...gone),
      limits,
    );
    const peakMegabytes = Math.round(peakBytes / 1e6);
    process.stdout.write(
      `${JSON.stringify({ set, files, generations, seconds, cpuSeconds, peakMegabytes })}\n`,
    );
    return 0;
  } finally {
    server.stop();
  }
}

await runCommand(USAGE, join);
