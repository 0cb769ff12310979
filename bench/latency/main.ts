/** npm run bench:latency: what the service adds to the settle window, and to the save after an interruption. */
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { type ControlClient, controlClient } from '@tidewheel/emulators/region/control-client.ts';
import { type Region, startRegion } from '@tidewheel/emulators/region/region.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { endOf, inWorkFolder } from '../work-folder.ts';
import { declare, exitCodeOf, MOST_KILL_SECONDS, playRound, QUIET_SECONDS, type Round } from './rounds.ts';

const PROJECT_FOLDER = join(import.meta.dirname, '../..');

const USAGE = `npm run bench:latency -- [OPTIONS]

Drops files into a region of its own, interrupts the training, and prints the seconds

  - from the last arrival to the training request, without the settle window (${QUIET_SECONDS} s),
  - from the end of the interrupted job, which has saved, to the request elsewhere,
  - from a kill -9 of the host after it to the first new step of a script that starts at once: exit code 1 above
    ${MOST_KILL_SECONDS} s.

The first round starts every function; later rounds find them warm.

  --rounds N   default 3
  --files N    files of 1 KB in a drop; default 1000
  --help
`;

const schema = z.object({ rounds: wholeNumber(1).default(3), files: wholeNumber(1).default(1_000) });

async function measure(
  stateDirectory: string,
  rounds: number,
  files: number,
  signal: AbortSignal,
): Promise<readonly Round[]> {
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
    const control = await controlClient(stateDirectory);
    return await Promise.race([playRounds(region, control, rounds, files), endOf(signal)]);
  } finally {
    await region.close();
  }
}

async function playRounds(
  region: Region,
  control: ControlClient,
  rounds: number,
  files: number,
): Promise<readonly Round[]> {
  await declare(region);
  const played: Round[] = [];
  for (let round = 1; round <= rounds; round += 1)
    played.push(await playRound(region, control, round, files));
  return played;
}

await runCommand(USAGE, async (args) => {
  const { rounds, files } = readCommandLine(args, { schema }).values;
  const load = loadavg()[0];
  const played = await inWorkFolder('latency', (folder, signal) => measure(folder, rounds, files, signal));
  console.table(played);
  console.log(`${files} files, at a load of ${load?.toFixed(1)}`);
  return exitCodeOf(played);
});
