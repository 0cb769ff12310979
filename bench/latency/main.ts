/** npm run bench:latency: what the service adds to the settle window, and to the save after an interruption. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRegion } from '@tidewheel/emulators/region/region.ts';
import { readCommandLine, runCommand, usable } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { declare, playRound, QUIET_SECONDS, type Round } from './rounds.ts';

const PROJECT_FOLDER = join(import.meta.dirname, '../..');

const USAGE = `npm run bench:latency -- [OPTIONS]

Drops files into a region of its own, interrupts the training, and prints the seconds

  - from the last arrival to the training request, without the settle window (${QUIET_SECONDS} s),
  - from the end of the interrupted job, which has saved, to the request elsewhere.

The first round starts every function; later rounds find them warm.

  --rounds N   default 3
  --files N    files of 1 KB in a drop; default 1000
  --json FILE  the figures of every round; - prints them instead of the table
  --help
`;

const count = z.coerce
  .number('give a whole number from 1')
  .int('give a whole number from 1')
  .min(1, 'give a whole number from 1');

const spec = {
  options: {
    rounds: { type: 'string', default: '3' },
    files: { type: 'string', default: '1000' },
    json: { type: 'string' },
  },
  schema: z.object({ rounds: count, files: count, json: z.string().optional() }),
} as const;

async function measure(rounds: number, files: number): Promise<readonly Round[]> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'tidewheel-latency-'));
  const region = await startRegion({
    projectFolder: PROJECT_FOLDER,
    stateDirectory,
    pythonPath: process.env['TIDEWHEEL_PYTHON'] ?? join(PROJECT_FOLDER, '.venv/bin/python'),
    // Each round loses a zone, which is there again for the next one.
    market: { kind: 'demo', downSeconds: 20 },
    usesOtherPorts: true,
    log: () => undefined,
  });
  try {
    await declare(region);
    const played: Round[] = [];
    for (let round = 1; round <= rounds; round += 1) played.push(await playRound(region, round, files));
    return played;
  } finally {
    await region.close();
    await rm(stateDirectory, { recursive: true, force: true });
  }
}

await runCommand(USAGE, async (args) => {
  const { rounds, files, json } = readCommandLine(args, spec).values;
  const load = loadavg()[0];
  const played = await measure(rounds, files);
  const text = JSON.stringify(
    { files, quietSeconds: QUIET_SECONDS, loadAtStart: load, rounds: played },
    undefined,
    2,
  );
  if (json === '-') console.log(text);
  else console.table(played);
  if (json !== undefined && json !== '-') await usable('--json', json, () => writeFile(json, `${text}\n`));
  return 0;
});
