/** `npm run bench:hostile [-- --requests 20000]`: broken requests at every port of `npm start`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { volley } from '../../test/support/volley.ts';
import { Started } from '../kills/started.ts';

const USAGE = `npm run bench:hostile -- [OPTIONS]

Starts a region of its own with npm start, and sends broken requests and raw bytes to each of its ports. None may be
answered as if it were signed, no server may end, and none may take 300 MB more of memory.

  --requests N   to each port (20000)
  --seed N       (1)`;

const WHOLE = 'give a whole number from 1 to 1000000';
const whole = z.coerce.number(WHOLE).int(WHOLE).min(1, WHOLE).max(1_000_000, WHOLE);
const spec = {
  options: { requests: { type: 'string', default: '20000' }, seed: { type: 'string', default: '1' } },
  schema: z.object({ requests: whole, seed: whole }),
} as const;

const MOST_MEGABYTES = 300;

await runCommand(USAGE, async (args) => {
  const { requests: count, seed } = readCommandLine(args, spec).values;
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
