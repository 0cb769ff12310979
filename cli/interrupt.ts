/** `npm run interrupt -- RUN`: strikes a chosen run of the local region. */
import { join } from 'node:path';
import { controlClient } from '@tidewheel/emulators/region/control-client.ts';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';

const USAGE = `npm run interrupt -- [RUN] [options]

Reclaims the capacity of a run in the region of \`npm start\`, as EC2 does: the warning, then the end after the region's
grace (--grace of npm start). Without RUN it lists what has machines now. RUN is a run's id or the name of its job.

  --kill            no warning: the machines fail at once, as after kill -9
  --host N          one host, counted from 1 (default: all; SageMaker warns all hosts of a job together)
  --state FOLDER    of the region (default .tidewheel)

Exit code: 0 struck or listed, 1 not possible, 2 typed wrongly.`;

const FROM_1 = 'hosts are counted from 1';
const WORDS = {
  positionals: ['RUN?'],
  options: {
    kill: { type: 'boolean', default: false },
    host: { type: 'string' },
    state: { type: 'string', default: join(import.meta.dirname, '..', '.tidewheel') },
  },
  schema: z.object({
    kill: z.boolean(),
    host: z.coerce.number(FROM_1).int(FROM_1).min(1, FROM_1).optional(),
    state: z.string(),
  }),
} as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = readCommandLine(args, WORDS);
  const region = await controlClient(values.state);
  const [run] = positionals;
  if (run === undefined) {
    const jobs = await region.running();
    if (jobs.length === 0) say('no run has machines now');
    for (const { run: id, job, launcher, hosts, isSpot } of jobs)
      say(
        `${id}  ${job}  ${launcher}  ${hosts} host${hosts === 1 ? '' : 's'}  ${isSpot ? 'Spot' : 'On-Demand'}`,
      );
    return 0;
  }
  const struck = await region.strike({ run, kill: values.kill, host: values.host });
  const what = values.host === undefined ? 'all hosts' : `host ${values.host}`;
  say(`${struck.job}: ${what} ${values.kill ? 'failed, without a warning' : 'warned; the grace runs'}`);
  return 0;
}

await runCommand(USAGE, main);
