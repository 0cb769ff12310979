/**
 * The joining of small generations, alone in a process: `node_modules/.bin/node bench/packing/compacting.ts [--files 1000000]
 * [--generations 10]`.
 */

import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { bundle } from './bundle.ts';
import type { Tool } from './competitors.ts';
import { BenchServer, measureOn } from './measuring.ts';
import { pythonTools } from './python-tools.ts';

const USAGE = `node_modules/.bin/node bench/packing/compacting.ts [options]

Files of 100 bytes arrive in as many turns as there are to be generations and are packed, which is not measured; then a
process of its own joins the generations. Prints as JSON the seconds and CPU seconds that it took, and its peak memory.

  --files 1000000    of all generations together
  --generations 10   to be joined
  --flags "FLAGS"    of Node.js; default: as the packing functions are deployed`;

const count = z.coerce.number('give a whole number').int('give a whole number');
const spec = {
  options: {
    files: { type: 'string', default: '1000000' },
    generations: { type: 'string', default: '10' },
    flags: { type: 'string', default: '--enable-source-maps --max-semi-space-size=16' },
  },
  schema: z.object({
    files: count.min(2, 'give 2 or more'),
    generations: count.min(2, 'give 2 or more: one alone is not joined'),
    flags: z.string(),
  }),
} as const;

async function join(args: readonly string[]): Promise<number> {
  const { files, generations, flags } = readCommandLine(args, spec).values;
  const { folder } = await pythonTools();
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
  const server = await BenchServer.start('compact', files);
  try {
    const limits = { filesPerShard: 1, isLarge: false };
    await server.keepShards(true);
    for (let turn = 1; turn <= generations; turn += 1) {
      await server.arrive(Math.floor((files * turn) / generations));
      const runId = `bench-${String(turn).padStart(6, '0')}`;
      await measureOn(server, program('ours.ts', 'bench', 'bench', runId), limits);
    }
    const { seconds, cpuSeconds, peakBytes } = await measureOn(server, program('compact.ts'), limits);
    const peakMegabytes = Math.round(peakBytes / 1e6);
    process.stdout.write(`${JSON.stringify({ files, generations, seconds, cpuSeconds, peakMegabytes })}\n`);
    return 0;
  } finally {
    server.stop();
  }
}

await runCommand(USAGE, join);
