/** npm run bench:limits: the service in an account with limits. */
import { LIMIT_PROFILES } from '@tidewheel/emulators/limits/profiles.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { markdownTable } from '../../cli/recipes/table.ts';
import type { CaseResult, LimitCase } from './case.ts';
import { CASES } from './cases.ts';

const NAMES = CASES.map(({ name }) => name);

const USAGE = `npm run bench:limits -- [OPTIONS]

Runs the service in an account with AWS's limits (emulators/limits/profiles.ts). Prints for each case whether it ended
well, how long it took by its own clock, the most Lambda slots used, retries, and the requests by kind with their list
price (bench/limits/prices.ts). Exits with 1 if a case did not end well.

  --profile PROFILE   ${LIMIT_PROFILES.join(', ')}; default new-account
  --case NAMES        some of ${NAMES.join(', ')}; default all
  --small             a tenth of the data
  --help

${CASES.map(({ name, title }) => `  ${name.padEnd(23)}${title}`).join('\n')}
`;

const schema = z.object({
  profile: z.enum(LIMIT_PROFILES, `write ${LIMIT_PROFILES.join(', ')}`).prefault('new-account'),
  case: z
    .string()
    .transform((text) => text.split(','))
    .refine((names) => names.every((name) => NAMES.includes(name)), `give some of ${NAMES.join(', ')}`)
    .prefault(NAMES.join(',')),
  small: z.boolean().default(false),
});

const HEAD = ['case', 'ended', 'time', 'most slots', 'throttled', 'retries', 'requests, USD'];

const rowOf = ({ name }: LimitCase, result: CaseResult): string[] => [
  name,
  result.outcome,
  result.seconds === undefined ? '-' : timeOf(result.seconds),
  String(result.mostSlots ?? '-'),
  String(result.throttled ?? '-'),
  String(result.retries ?? '-'),
  result.requests.reduce((sum, { usd }) => sum + usd, 0).toFixed(4),
];

function timeOf(seconds: number): string {
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return `${(seconds / 60).toFixed(1)} min`;
}

function requestsOf({ name }: LimitCase, { requests, details }: CaseResult): string {
  const rows = requests.map(({ kind, count, usd }) => [kind, String(count), usd.toFixed(6)]);
  const further = Object.entries(details ?? {}).map(([what, figure]) => `${what} ${figure}`);
  return [`\n${name}`, markdownTable(['requests', 'count', 'USD'], rows), ...further].join('\n');
}

await runCommand(USAGE, async (args) => {
  const chosen = readCommandLine(args, { schema }).values;
  const done: { readonly limitCase: LimitCase; readonly result: CaseResult }[] = [];
  for (const limitCase of CASES.filter(({ name }) => chosen.case.includes(name))) {
    const result = await limitCase.run({ profile: chosen.profile, small: chosen.small });
    done.push({ limitCase, result });
  }
  const rows = done.map(({ limitCase, result }) => rowOf(limitCase, result));
  process.stdout.write(`${markdownTable(HEAD, rows)}\n`);
  for (const { limitCase, result } of done) process.stdout.write(`${requestsOf(limitCase, result)}\n`);
  return done.every(({ result }) => result.ok) ? 0 : 1;
});
