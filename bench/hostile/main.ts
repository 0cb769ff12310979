/** `npm run bench:hostile [-- --requests 20_000]`: broken requests at every port of `npm start`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { volley } from '../../test/support/volley.ts';
import { Started } from '../kills/started.ts';

const USAGE = `npm run bench:hostile -- [OPTIONS]

Starts a region of its own with npm start, and sends broken requests and raw bytes to each of its ports. None may be
answered as if it were signed, no server may end, and none may take 300 MB more of memory.

  --requests N   to each port (20_000)
  --seed N       (1)`;

const whole = wholeNumber(1, 1_000_000);
const schema = z.object({ requests: whole.default(20_000), seed: whole.default(1) });

const MOST_MEGABYTES = 300;

await runCommand(USAGE, async (args) => {
  const { requests: count, seed } = readCommandLine(args, { schema }).values;
  const state = await mkdtemp(join(tmpdir(), 'tidewheel-hostile-'));
  const started = new Started(state);
  try {
    const { api } = await started.up();
    const met = await volley(started.pid, { count, seed });
    console.table([{ ...met, wrong: met.wrong.length, silent: met.silent.length }]);
    for (const line of met.wrong.slice(0, 20)) console.log(line);
    const isUp = (await api.call('GET', '/pipelines')).status === 200 && !started.hasEnded;
    const isUnharmed = met.wrong.length + met.silent.length === 0 && met.grownMegabytes < MOST_MEGABYTES;
    return isUp && isUnharmed ? 0 : 1;
  } finally {
    await started.stop();
    await rm(state, { recursive: true, force: true });
  }
});
