/** What the agent's hooks cost a real training, measured beside the simulation: the simulation has none. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAM = join(ROOT, 'training/measure/measure_hooks.py');
const TIMEOUT_MILLISECONDS = 600_000;

const overheadSchema = z.object({
  stepOverheadMicroseconds: z.number(),
  low: z.number(),
  high: z.number(),
  stepMicroseconds: z.number(),
  agentShareOfCore: z.number(),
});

type Overhead = z.infer<typeof overheadSchema>;

/**
 * CPU time a step of the training thread, with the range of four parts of the measurement, and the agent's own share of
 * a core.
 *
 * @returns undefined where the project's Python is not set up
 * @throws Error with the words of the program
 */
export async function measureOverhead(): Promise<Overhead | undefined> {
  const python = process.env['TIDEWHEEL_PYTHON'] ?? join(ROOT, '.venv/bin/python');
  if (!existsSync(python)) return undefined;
  const { stdout } = await promisify(execFile)(python, [PROGRAM, '--json'], {
    timeout: TIMEOUT_MILLISECONDS,
  });
  return overheadSchema.parse(JSON.parse(stdout));
}
