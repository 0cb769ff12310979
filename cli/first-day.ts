/** `npm run first-day`: the first hour on a real account, step by step, with a report to send us. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCommandLine, runCommand, UsageError, usable } from '@tidewheel/emulators/shared/command-line.ts';
import { makeWritable } from '@tidewheel/emulators/shared/files.ts';
import * as z from 'zod';
import { describeError } from '../functions/aws/shared/aws-errors.ts';
import { openDeployment } from './deployment/open-deployment.ts';
import { remedyOf, surroundingsOf } from './deployment/surroundings.ts';
import { askAt, type Stopping } from './first-day/ask.ts';
import { type Day, GOES_ON, planLine, playAll } from './first-day/play-all.ts';
import { obstacleTo, type StepDeps } from './first-day/play-step.ts';
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

Exit code: 0 every step that was played went as it should, 1 one did not or no answer came, 2 typed wrongly,
130 Ctrl-C.

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

/** As a shell has it for what SIGINT ended. */
const INTERRUPTED = 130;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, { ...WORDS, check: checkHosts });
  const steps = STEPS.filter(({ number }) => values.only?.includes(number) ?? true);
  const hosts = hostsOf(values);
  if (values['dry-run']) {
    const isLocal = Boolean(process.env['AWS_ENDPOINT_URL']);
    for (const step of steps) say(planLine(step, obstacleTo(step, { isLocal, hosts })));
    say(`\nat most $${steps.reduce((sum, { mostUsd }) => sum + mostUsd, 0).toFixed(2)} together`);
    return 0;
  }
  const { region, endpoint } = surroundingsOf(process.env);
  const isLocal = endpoint !== undefined;
  const needsYes = steps.some((step) => costsSomething(step, { isLocal, hosts }));
  if (needsYes && !values.yes && !process.stdin.isTTY)
    throw new UsageError(['a step that costs something needs a terminal to ask at, or --yes']);
  const deployment = await openDeployment({ stage: values.stage, region });
  await usable('--folder', values.folder, () => makeWritable(values.folder));
  const day = dayOf(steps, values, { deployment, hosts, isLocal });
  const stopping = new AbortController();
  // The second one ends it at once.
  const stop = () => stopping.abort();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, stop);
  const { signal } = stopping;
  const script = await readFile(path.join(import.meta.dirname, 'first-day', 'train.py'));
  return withBucket(deployment.bucket, async (store) => {
    const ground = {
      store,
      script,
      say,
      signal,
      now: () => new Date(),
      sleep: (milliseconds: number) => sleep(milliseconds, undefined, { signal }),
    };
    try {
      const deps = { deployment, ground, hosts, isLocal, testObjectId: randomUUID, explain };
      const isWell = await playAll(day({ signal, stop }), deps);
      if (signal.aborted) return INTERRUPTED;
      return isWell ? 0 : 1;
    } catch (error: unknown) {
      if (!signal.aborted) throw error;
      say(`Stopped. ${GOES_ON}`);
      return INTERRUPTED;
    }
  });
}

const explain = (error: unknown): string => remedyOf(error, process.env) ?? describeError(error);

const dayOf =
  (
    steps: readonly Step[],
    { only, folder, names, stage, yes }: Values,
    { deployment, ...where }: Pick<StepDeps, 'deployment' | 'hosts' | 'isLocal'>,
  ) =>
  (stopping: Stopping): Day => ({
    steps,
    again: only !== undefined,
    folder,
    names,
    place: {
      where: where.isLocal ? 'one machine' : 'AWS',
      account: deployment.stateMachineArn.split(':')[4] ?? '',
      region: deployment.region,
      stage,
    },
    mayPlay: async (step) => (yes || !costsSomething(step, where) ? 'yes' : askAt(process, stopping)),
  });

const costsSomething = (step: Step, where: Pick<StepDeps, 'hosts' | 'isLocal'>): boolean =>
  step.mostUsd > 0 && step.kind !== 'byHand' && obstacleTo(step, where) === undefined;

const HOST_OPTIONS = ['subnet', 'zone-id', 'security-group', 'image'] as const;

function checkHosts(_: readonly string[], values: Values | undefined): readonly string[] {
  const missing = HOST_OPTIONS.filter((name) => values !== undefined && !values[name]);
  return missing.length === HOST_OPTIONS.length
    ? []
    : missing.map((name) => `--${name} is missing: step 6 needs all four or none`);
}

function hostsOf({
  subnet: subnetId,
  'zone-id': zoneId,
  'security-group': securityGroupId,
  image,
}: Values): Hosts | undefined {
  return subnetId && zoneId && securityGroupId && image
    ? { subnetId, zoneId, securityGroupId, image }
    : undefined;
}

await runCommand(USAGE, main);
