/**
 * The joining of small generations, alone in a process: `node_modules/.bin/node bench/packing/compacting.ts [--files 1000000]
 * [--generations 10]`. Files of 100 bytes arrive in as many turns and are packed, which is not measured. Prints JSON.
 */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { bundle } from './bundle.ts';
import type { Tool } from './competitors.ts';
import { BenchServer, measureOn } from './measuring.ts';
import { pythonTools } from './python-tools.ts';

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '1000000' },
    generations: { type: 'string', default: '10' },
    flags: { type: 'string', default: '--enable-source-maps --max-semi-space-size=16' },
  },
});
const [files, generations] = [Number(values.files), Number(values.generations)];
const { folder } = await pythonTools();

const program = (file: string, ...words: string[]): Tool => ({
  name: file,
  command: [
    process.execPath,
    bundle(path.join(import.meta.dirname, file), path.join(folder, 'bundles')),
    ...words,
  ],
  environment: { NODE_OPTIONS: values.flags },
  output: undefined,
  isOurs: true,
});

const server = await BenchServer.start('compact', files);
try {
  const limits = { filesPerShard: 1, isLarge: false };
  await server.keepShards(true);
  for (let turn = 1; turn <= generations; turn += 1) {
    await server.arrive(Math.floor((files * turn) / generations));
    await measureOn(
      server,
      program('ours.ts', 'bench', 'bench', `bench-${String(turn).padStart(6, '0')}`),
      limits,
    );
  }
  const { seconds, cpuSeconds, peakBytes } = await measureOn(server, program('compact.ts'), limits);
  const peakMegabytes = Math.round(peakBytes / 1e6);
  process.stdout.write(`${JSON.stringify({ files, generations, seconds, cpuSeconds, peakMegabytes })}\n`);
} finally {
  server.stop();
}
