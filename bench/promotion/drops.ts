/** Drops in a row, really trained: on from the model before, beside from nothing on all. */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { parseJson } from '@tidewheel/kit/json.ts';
import { pythonTools } from '../../test/support/python-tools.ts';

/** With the number of seeds, whose mean counts: one held-out sample of a table is 0.6 points, and of text none. */
const TASKS = [
  ['table', 20],
  ['digits', 8],
  ['language', 1],
] as const;

export async function playDrops(drops: number, seed: number): Promise<Record<string, unknown>> {
  const below = path.join(import.meta.dirname, '../../.venv/bin/python');
  const file = path.join(import.meta.dirname, 'requirements.txt');
  const python = path.join(await pythonTools({ name: 'promotion', file, below }), 'bin/python');
  const script = path.join(import.meta.dirname, 'drops.py');
  const tasks: Record<string, unknown> = {};
  for (const [task, seeds] of TASKS) {
    const options = ['--drops', String(drops), '--seed', String(seed), '--seeds', String(seeds)];
    const { stdout, stderr } = await promisify(execFile)(python, ['-W', 'ignore', script, task, ...options], {
      env: { ...process.env, OMP_NUM_THREADS: '1' },
    });
    console.log(stderr);
    tasks[task] = parseJson(stdout);
  }
  return tasks;
}
