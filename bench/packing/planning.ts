/**
 * The planning of a long listing, alone in a process: `node_modules/.bin/node bench/packing/planning.ts [--keys 2000000]
 * [--annotations] [--balance over|under]`. The server pages as S3 does. Prints what it took as JSON.
 */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { bundle } from './bundle.ts';
import { BenchServer, measure } from './measuring.ts';
import { pythonTools } from './python-tools.ts';
import { INCOMING, TO_PLAN } from './sets.ts';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '2000000' },
    annotations: { type: 'boolean', default: false },
    balance: { type: 'string' },
    flags: { type: 'string', default: '--enable-source-maps --max-semi-space-size=16' },
  },
});
const keys = Number(values.keys);
const { folder } = await pythonTools();
const program = bundle(path.join(import.meta.dirname, 'ours.ts'), path.join(folder, 'bundles'));
const settings = {
  ...(values.annotations && { label: 'annotations', annotations: { file: 'labels.csv' } }),
  ...(values.balance && { balance: values.balance }),
};

/** 40, 30, 20 and 10 % of the keys. */
const CLASSES = ['cat', 'cat', 'cat', 'cat', 'dog', 'dog', 'dog', 'horse', 'horse', 'a kind of bird'];

function annotationsFile(): Buffer {
  const corpus = TO_PLAN.corpus(keys);
  const rows = ['key,label'];
  for (let index = 0; index < keys; index += 1)
    rows.push(`${corpus.keyAt(index).slice(INCOMING.length)},${CLASSES[index % CLASSES.length] ?? ''}`);
  return Buffer.from(`${rows.join('\n')}\n`);
}

const server = await BenchServer.start('plan', keys);
try {
  const before = async (): Promise<void> => {
    if (!values.annotations) return;
    await server.keepShards(true);
    await fetch(`${server.url}/bench/${INCOMING}labels.csv`, { method: 'PUT', body: annotationsFile() });
  };
  const tool = {
    name: 'planning',
    command: [process.execPath, program, 'bench', 'bench', 'bench-000001', 'plan', JSON.stringify(settings)],
    environment: { NODE_OPTIONS: values.flags },
    output: undefined,
    isOurs: true,
  };
  const { seconds, cpuSeconds, peakBytes } = await measure(
    server,
    tool,
    { filesPerShard: 1, isLarge: false },
    before,
  );
  const { requests } = await server.seen();
  process.stdout.write(
    `${JSON.stringify({ keys, settings, seconds, cpuSeconds, peakMegabytes: Math.round(peakBytes / 1e6), requests })}\n`,
  );
} finally {
  server.stop();
}
