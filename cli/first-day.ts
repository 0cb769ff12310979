/** `npm run first-day`: the first hour on a real account, step by step, with a report to send us. */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCommandLine, runCommand, UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { openDeployment } from './deployment/open-deployment.ts';
import { obstacleTo, playStep, type StepDeps } from './first-day/play-step.ts';
import { keepResults, markdownOf, readResults, type StepResult, withoutNames } from './first-day/results.ts';
import { type Hosts, STEPS, type Step } from './first-day/steps.ts';
import { withBucket } from './open-dataset.ts';

const MOST_USD = STEPS.reduce((sum, { mostUsd }) => sum + mostUsd, 0);

const USAGE = `npm run first-day -- [--stage STAGE] [--only 1,2] [--dry-run] [--yes]

The first hour on a real account (docs/first-day.md): ${STEPS.length} steps, at most $${MOST_USD.toFixed(2)} together. Each says what it
proves, asks before it pays, removes what it made, and goes into FOLDER/report.md and report.json. A second start
continues after the steps that are done.

  --stage STAGE            stage of the deployment; default: dev
  --only 1,2               only these steps, again if they are done
  --dry-run                print the steps and what they cost, and do nothing
  --yes                    do not ask before a step that costs something
  --folder FOLDER          where results and report go; default: .tidewheel/first-day
  --names                  leave account numbers and names in the report
  --subnet ID --zone-id ID --security-group ID --image ami-…
                           for step 6: a subnet without a route to S3, and an image for hosts

AWS_REGION and credentials name the account; AWS_ENDPOINT_URL selects another endpoint, such as that of npm start.`;

const WORDS = {
  options: {
    stage: { type: 'string' },
    only: { type: 'string' },
    'dry-run': { type: 'boolean' },
    yes: { type: 'boolean' },
    folder: { type: 'string' },
    names: { type: 'boolean' },
    subnet: { type: 'string' },
    'zone-id': { type: 'string' },
    'security-group': { type: 'string' },
    image: { type: 'string' },
  },
  schema: z.object({
    stage: z
      .string()
      .regex(/^[a-zA-Z][a-zA-Z0-9-]{0,63}$/, 'write the name of a stage')
      .default('dev'),
    only: z
      .string()
      .regex(/^[1-9](,[1-9])*$/, `write numbers from 1 to ${STEPS.length} with commas between them`)
      .transform((text) => text.split(',').map(Number))
      .optional(),
    'dry-run': z.boolean().default(false),
    yes: z.boolean().default(false),
    folder: z.string().default(path.join('.tidewheel', 'first-day')),
    names: z.boolean().default(false),
    subnet: z.string().optional(),
    'zone-id': z.string().optional(),
    'security-group': z.string().optional(),
    image: z.string().optional(),
  }),
} as const;

type Values = z.output<typeof WORDS.schema>;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, WORDS);
  const region = process.env['AWS_REGION'];
  const chosen = STEPS.filter(({ number }) => values.only?.includes(number) ?? true);
  const isLocal = process.env['AWS_ENDPOINT_URL'] !== undefined;
  const hosts = hostsOf(values);
  if (values['dry-run']) {
    for (const step of chosen) say(planLine(step, obstacleTo(step, { isLocal, hosts })));
    say(`\nat most $${chosen.reduce((sum, { mostUsd }) => sum + mostUsd, 0).toFixed(2)} together`);
    return 0;
  }
  if (region === undefined) throw new UsageError(['AWS_REGION is not set: see below']);
  const deployment = await openDeployment({ stage: values.stage, region });
  const script = await readFile(path.join(import.meta.dirname, 'first-day', 'train.py'));
  return withBucket(deployment.bucket, (store) => {
    const ground = {
      store,
      script,
      say,
      now: () => new Date(),
      sleep: (milliseconds: number) => sleep(milliseconds),
    };
    return playAll(chosen, values, { deployment, ground, hosts, isLocal, testObjectId: randomUUID });
  });
}

async function playAll(chosen: readonly Step[], values: Values, deps: StepDeps): Promise<number> {
  await mkdir(values.folder, { recursive: true });
  const file = path.join(values.folder, 'results.json');
  let results = await readResults(file);
  for (const step of chosen) {
    const isDone = results.some(({ number, outcome }) => number === step.number && outcome === 'asExpected');
    if (isDone && values.only === undefined) continue;
    say(`\n${planLine(step, obstacleTo(step, deps))}`);
    if (!(await mayPlay(step, values, deps))) continue;
    const result = await playStep(step, deps);
    for (const line of result.lines) say(`  ${line}`);
    results = [...results.filter(({ number }) => number !== step.number), result].toSorted(
      (a, b) => a.number - b.number,
    );
    await keepResults(file, results);
  }
  await writeReport(results, values, deps.isLocal);
  return results.some(({ outcome }) => outcome === 'differs') ? 1 : 0;
}

const planLine = ({ number, title, proves, mostUsd }: Step, obstacle: string | undefined): string =>
  `${number}. ${title} (at most $${mostUsd.toFixed(2)})\n   proves: ${proves}${obstacle === undefined ? '' : `\n   not possible here: ${obstacle}`}`;

/** A step that costs something is played only after a yes. */
async function mayPlay(step: Step, { yes }: Values, deps: StepDeps): Promise<boolean> {
  const isFree = step.mostUsd === 0 || step.kind === 'byHand' || obstacleTo(step, deps) !== undefined;
  if (yes || isFree) return true;
  if (!process.stdin.isTTY) throw new UsageError(['a step that costs something needs a terminal, or --yes']);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('   run it? [y/N] ');
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

async function writeReport(
  results: readonly StepResult[],
  { folder, names }: Values,
  isLocal: boolean,
): Promise<void> {
  const hide = names ? (text: string) => text : withoutNames;
  const markdown = path.join(folder, 'report.md');
  await writeFile(markdown, hide(markdownOf(results, isLocal ? 'one machine' : 'AWS')));
  await writeFile(path.join(folder, 'report.json'), hide(JSON.stringify({ results }, undefined, 2)));
  say(`\nreport: ${markdown}`);
}

function hostsOf(values: Values): Hosts | undefined {
  const { subnet: subnetId, 'zone-id': zoneId, 'security-group': securityGroupId, image } = values;
  if (!subnetId || !zoneId || !securityGroupId || !image) return undefined;
  return { subnetId, zoneId, securityGroupId, image };
}

await runCommand(USAGE, main);
