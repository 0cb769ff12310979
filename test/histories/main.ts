/**
 * `npm run test:histories [-- --seeds 1-50]`: random histories of drops, overwrites, deletions, corrections, labels,
 * compactions, retractions, prunes, repairs, deletions by runs and kills. A model in Python says what each version must
 * hold, and reads the shards.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import { historyOf } from './history.ts';

const USAGE = `npm run test:histories [-- --seeds A-B]
  --seeds A-B   the seeds, both included (1-50)`;

const RANGE = 'write two whole numbers with a dash, such as 1-50';
const schema = z.object({
  seeds: z
    .string()
    .regex(/^\d{1,9}-\d{1,9}$/, RANGE)
    .default('1-50')
    .transform((text) => text.split('-').map(Number))
    .refine(([first = 0, last = 0]) => first <= last, RANGE),
});

/** A step of the service that throws is a difference, and the other seeds are played. */
async function playedOf(seed: number): Promise<object> {
  try {
    return { seed, ...(await historyOf(seed)) };
  } catch (error: unknown) {
    return { seed, failed: messageOf(error) };
  }
}

async function* linesOf(first: number, last: number): AsyncGenerator<string> {
  for (let seed = first; seed <= last; seed += 1) yield `${JSON.stringify(await playedOf(seed))}\n`;
}

async function histories(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, { schema });
  const [first = 0, last = 0] = values.seeds;
  const model = spawn('python3', [path.join(import.meta.dirname, 'model.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Not the model's own output: Python fails where its reader goes (`… | head`).
  model.stdout.on('data', (chunk: Buffer) => void process.stdout.write(chunk));
  const ended = once(model, 'close');
  const written = pipeline(linesOf(first, last), model.stdin);
  // A model that has ended takes no more lines; its exit code says why.
  await Promise.allSettled([written]);
  const [code] = await ended;
  if (code !== 0) return 1;
  await written;
  return 0;
}

await runCommand(USAGE, histories);
