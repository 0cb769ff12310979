/** npm run bench:doctor: the doctor's verdicts and forecasts on simulated trainings whose cause is known. */
import { writeFileSync } from 'node:fs';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { measureOverhead } from './overhead.ts';
import { firedIn, isWithin20, rulesShares, type Scored, score, sharesOf } from './score.ts';

const USAGE = `npm run bench:doctor -- [--seeds A-B] [--json FILE]

Simulates a training for every seed, with one known cause that holds it back (or none), diagnoses it by what its events
left in the agent's points, takes the remedy of the first verdict, and simulates again. SageMaker Debugger's rules judge
the same events. A seed takes a tenth of a second or so. --json also measures the hooks of the agent.

  --seeds A-B   default 1-96
  --json FILE   topRight, falseAlarms and gainWithin20 as shares of 1, every seed, and stepOverheadMicroseconds: what
                the hooks of the agent cost a step of a real training, measured for half a minute or more (null where
                .venv is missing)
  --each        a line for every seed
  --help
`;

const SEEDS = 'give a range of whole numbers, as in 1-96';

const spec = {
  options: {
    seeds: { type: 'string', default: '1-96' },
    json: { type: 'string' },
    each: { type: 'boolean', default: false },
  },
  schema: z.object({
    seeds: z
      .string()
      .regex(/^\d{1,9}-\d{1,9}$/, SEEDS)
      .transform((text) => text.split('-').map(Number))
      .refine(([from = 0, to = 0]) => from <= to && to - from < 10_000, SEEDS),
    json: z.string().optional(),
    each: z.boolean(),
  }),
} as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);

function line(scored: Scored): string {
  const { seed, truth, said, gain, rules } = scored;
  const brought =
    gain === undefined
      ? ''
      : `predicted ${gain.predicted.toFixed(2)} ${gain.unit}, measured ${gain.measured.toFixed(2)}${isWithin20(scored) ? '' : ' (off)'}`;
  return `${truth === said ? ' ' : '✗'} seed ${seed}: ${truth}, said ${said}; ${brought}; rules: ${rules.join(' ') || '-'}`;
}

await runCommand(USAGE, async (args) => {
  const { seeds, json, each } = readCommandLine(args, spec).values;
  const [from = 1, to = from] = seeds;
  const scored = Array.from({ length: to - from + 1 }, (_, k) => score(from + k));
  if (each) for (const one of scored) say(line(one));
  const [ours, rules] = [sharesOf(scored), rulesShares(scored)];
  say(`seeds ${from}-${to}           doctor   Debugger's rules`);
  say(
    `first verdict right  ${percent(ours.topRight)}  ${percent(rules.topRight)}  (any rule that names the cause)`,
  );
  say(`sick, but healthy    ${percent(ours.falseAlarms)}  ${percent(rules.falseAlarms)}`);
  say(`gain within 20 %     ${percent(ours.gainWithin20)}         -  (they forecast none)`);
  for (const [rule, count] of firedIn(scored))
    say(`  ${rule.padEnd(22)} fired in ${count} of ${scored.length}`);
  if (json !== undefined) {
    const hooks = await measureOverhead();
    if (hooks !== undefined)
      say(
        `hooks cost ${hooks.stepOverheadMicroseconds} us a step (${hooks.low} to ${hooks.high}), the agent ${(100 * hooks.agentShareOfCore).toFixed(2)} % of a core`,
      );
    const overhead = { stepOverheadMicroseconds: hooks?.stepOverheadMicroseconds ?? null, hooks };
    writeFileSync(json, `${JSON.stringify({ ...ours, ...overhead, rules, seeds: scored }, null, 2)}\n`);
  }
  return 0;
});
