/** npm run bench:doctor: the doctor's verdicts and forecasts on simulated trainings whose cause is known. */
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { isWithin20, type Scored, score, sharesOf } from './score.ts';

const USAGE = `npm run bench:doctor -- [--seeds A-B] [--each]

Simulates a training for every seed, with one known cause that holds it back (or none), diagnoses it by what its events
left in the agent's points, takes the remedy of the first verdict, and simulates again. A seed takes a tenth of a
second or so.

  --seeds A-B   default 1-96
  --each        a line for every seed
  --help
`;

const SEEDS = 'give a range of whole numbers, as in 1-96';

const schema = z.object({
  seeds: z
    .string()
    .regex(/^\d{1,9}-\d{1,9}$/, SEEDS)
    .transform((text) => text.split('-').map(Number))
    .refine(([from = 0, to = 0]) => from <= to && to - from < 10_000, SEEDS)
    .prefault('1-96'),
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
  const [from = 1, to = from] = seeds;
  const scored = Array.from({ length: to - from + 1 }, (_, k) => score(from + k));
  if (each) for (const one of scored) say(line(one));
  const shares = sharesOf(scored);
  say(`seeds ${from}-${to}`);
  say(`first verdict right  ${percent(shares.topRight)}`);
  say(`sick, but healthy    ${percent(shares.falseAlarms)}`);
  say(`gain within 20 %     ${percent(shares.gainWithin20)}`);
  return 0;
});
