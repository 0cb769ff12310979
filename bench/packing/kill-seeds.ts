/**
 * Hundreds of campaigns of test/integration/packing/faults.test.ts: `node_modules/.bin/node bench/packing/kill-seeds.ts
 * [--seeds 200] [--from 0] [--kills 5] [--json]`. Ends with 1 when any of them sealed other bytes.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { bundle } from './bundle.ts';
import { differences, type StartWorker, survive, undisturbed } from './kill-campaign.ts';

const USAGE = `node_modules/.bin/node bench/packing/kill-seeds.ts [options]

Workers that pack are killed with SIGKILL at seeded requests, beside a server that throttles, resets, truncates and
corrupts by the same seed, and others continue. In the end the sealed objects must equal those of an undisturbed run, byte by
byte. About two seconds a seed. Exit code 0: it was, every time; 1: it was not.

  --seeds 200   campaigns            --from 0   the first seed
  --kills 5     workers killed in each, at most
  --json        the outcome as data`;

const count = (least: number) =>
  z.coerce.number('give a whole number').int('give a whole number').min(least, `give ${least} or more`);
const spec = {
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '0' },
    kills: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
  schema: z.object({ seeds: count(1), from: count(0), kills: count(0), json: z.boolean() }),
} as const;

const startOf =
  (worker: string): StartWorker =>
  ({ endpoint, bucket, pipeline, runId, settings }) => {
    const parameters = [endpoint, bucket, pipeline, runId, JSON.stringify(settings)];
    const child = spawn(process.execPath, [worker, ...parameters], { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    const ended = new Promise<{ killed: boolean; code: number | null; errors: string }>((resolve) => {
      child.once('exit', (code, signal) => resolve({ killed: signal === 'SIGKILL', code, errors }));
    });
    return { ended, kill: () => void child.kill('SIGKILL') };
  };

async function campaigns(args: readonly string[]): Promise<number> {
  const { seeds, from, kills: mostKills, json } = readCommandLine(args, spec).values;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-kills-'));
  const worker = bundle(path.join(import.meta.dirname, '../../test/integration/packing/worker.ts'), folder);
  try {
    const start = startOf(worker);
    const started = Date.now();
    const expected = await undisturbed(start);
    const totals = { seeds, from, mostKills, kills: 0, faults: 0, otherBytes: 0, objects: expected.size };
    for (let seed = from; seed < from + seeds; seed += 1) {
      const { sealed, kills, faults } = await survive(start, seed, mostKills);
      totals.kills += kills;
      totals.faults += faults;
      const different = differences(expected, sealed);
      if (different.length === 0) continue;
      totals.otherBytes += 1;
      process.stderr.write(`seed ${seed} sealed other bytes: ${different.join(', ')}\n`);
    }
    const outcome = { ...totals, seconds: Math.round((Date.now() - started) / 1_000) };
    if (json) process.stdout.write(`${JSON.stringify(outcome)}\n`);
    else
      process.stdout.write(
        `${seeds} campaigns of ${expected.size} sealed objects: ${totals.kills} workers killed, ${totals.faults} faults, ` +
          `${totals.otherBytes} sealed other bytes (${outcome.seconds} s)\n`,
      );
    return totals.otherBytes === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await runCommand(USAGE, campaigns);
