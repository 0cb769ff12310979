/**
 * The planning of a long listing, alone in a process: `node_modules/.bin/node bench/packing/planning.ts [--keys 2000000]
 * [--annotations] [--balance over|under]`.
 */

import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { bundle } from './bundle.ts';
import { BenchServer, measure } from './measuring.ts';
import { peerTools } from './peer-tools.ts';
import { INCOMING, TO_PLAN } from './sets.ts';

const USAGE = `node_modules/.bin/node bench/packing/planning.ts [options]

Plans a run of so many arrivals in a process of its own, against a server that pages as S3 does. Prints as JSON the
seconds and CPU seconds it took, its peak memory, and the requests by kind.

  --keys 2000000    arrivals
  --annotations     labels from a file of annotations with a row for each
  --balance MODE    balance the classes: over or under
  --flags "FLAGS"   of Node.js; default: as the packing functions are deployed`;

const spec = {
  options: {
    keys: { type: 'string', default: '2000000' },
    annotations: { type: 'boolean', default: false },
    balance: { type: 'string' },
    flags: { type: 'string', default: '--enable-source-maps --max-semi-space-size=16' },
  },
  schema: z.object({
    keys: z.coerce.number('give a whole number').int('give a whole number').min(1, 'give 1 or more'),
    annotations: z.boolean(),
    balance: z.enum(['over', 'under'], 'give over or under').optional(),
    flags: z.string(),
  }),
} as const;

/** 40, 30, 20 and 10 % of the keys. */
const CLASSES = ['cat', 'cat', 'cat', 'cat', 'dog', 'dog', 'dog', 'horse', 'horse', 'a kind of bird'];

function annotationsFile(keys: number): Buffer {
  const corpus = TO_PLAN.corpus(keys);
  const rows = ['key,label'];
  for (let index = 0; index < keys; index += 1)
    rows.push(`${corpus.keyAt(index).slice(INCOMING.length)},${CLASSES[index % CLASSES.length] ?? ''}`);
  return Buffer.from(`${rows.join('\n')}\n`);
}

async function plan(args: readonly string[]): Promise<number> {
  const { keys, annotations, balance, flags } = readCommandLine(args, spec).values;
  const settings = {
    ...(annotations && { label: 'annotations', annotations: { file: 'labels.csv' } }),
    ...(balance && { balance }),
  };
  const { folder } = await peerTools();
  const program = bundle(path.join(import.meta.dirname, 'ours.ts'), path.join(folder, 'bundles'));
  const server = await BenchServer.start('plan', keys);
  const before = async (): Promise<void> => {
    if (!annotations) return;
    await server.keepShards(true);
    await fetch(`${server.url}/bench/${INCOMING}labels.csv`, { method: 'PUT', body: annotationsFile(keys) });
  };
  const tool = {
    name: 'planning',
    command: [process.execPath, program, 'bench', 'bench', 'bench-000001', 'plan', JSON.stringify(settings)],
    environment: { NODE_OPTIONS: flags },
    output: undefined,
    isOurs: true,
  };
  try {
    const limits = { filesPerShard: 1, isLarge: false };
    const { seconds, cpuSeconds, peakBytes } = await measure(server, tool, limits, before);
    const { requests } = await server.seen();
    const peakMegabytes = Math.round(peakBytes / 1e6);
    process.stdout.write(
      `${JSON.stringify({ keys, settings, seconds, cpuSeconds, peakMegabytes, requests })}\n`,
    );
    return 0;
  } finally {
    server.stop();
  }
}

await runCommand(USAGE, plan);
