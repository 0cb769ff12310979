/** npm run bench:doctor: the doctor's verdicts and forecasts on simulated trainings whose cause is known. */
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { seedList } from '../seeds.ts';
import { isWithin20, type Scored, score, sharesOf } from './score.ts';

const USAGE = `npm run bench:doctor -- [--seeds LIST] [--each]

Simulates a training for every seed, with one known cause that holds it back (or none), diagnoses it by what its events
left in the agent's points, takes the remedy of the first verdict, and simulates again. A seed takes a tenth of a
second or so.

  --seeds LIST  default 1-96
  --each        a line for every seed
  --help
`;

const schema = z.object({
  seeds: seedList.prefault('1-96'),
  each: z.boolean().default(false),
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);

function line(scored: Scored): string {
  const { seed, truth, said, gain } = scored;
  const brought =
    gain === undefined
      ? ''
      : `predicted ${gain.predicted.toFixed(2)} ${gain.unit}, measured ${gain.measured.toFixed(2)}${isWithin20(scored) ? '' : ' (off)'}`;
  return `${truth === said ? ' ' : '✗'} seed ${seed}: ${truth}, said ${said}; ${brought}`;
}

await runCommand(USAGE, async (args) => {
  const { seeds, each } = readCommandLine(args, { schema }).values;
  const scored = seeds.map((seed) => score(seed));
  if (each) for (const one of scored) say(line(one));
  const shares = sharesOf(scored);
  say(`${seeds.length} seeds`);
  say(`first verdict right  ${percent(shares.topRight)}`);
  say(`sick, but healthy    ${percent(shares.falseAlarms)}`);
  say(`gain within 20 %     ${percent(shares.gainWithin20)}`);
  return 0;
});
