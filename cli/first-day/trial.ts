/** `tidewheel check --trial`: the first hour on a real account, step by step, with a report to send us. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { printable, UsageError, usable } from '@tidewheel/kit/command-line.ts';
import { makeWritable } from '@tidewheel/kit/files.ts';
import * as z from 'zod';
import { describeError } from '../../functions/aws/shared/aws-errors.ts';
import type { Context } from '../command/context.ts';
import { askAt, type Stopping } from '../command/terminal.ts';
import { flag, option, type ValuesOf } from '../command/verb.ts';
import { withBucket } from '../dataset/open.ts';
import { openDeployment } from '../deployment/open-deployment.ts';
import { networkRemedy } from '../deployment/surroundings.ts';
import { type Day, GOES_ON, planLine, playAll } from './play-all.ts';
import { obstacleTo, type StepDeps } from './play-step.ts';
import { type Hosts, STEPS, type Step } from './steps.ts';

export const TRIAL_MOST_USD = STEPS.reduce((sum, { mostUsd }) => sum + mostUsd, 0);

export const TRIAL_OPTIONS = {
  only: option(
    '1,2',
    'trial: only these steps, again if they are done',
    z
      .string()
      .regex(/^[1-9](,[1-9])*$/, `write numbers from 1 to ${STEPS.length} with commas between them`)
      .transform((text) => text.split(',').map(Number))
      .optional(),
  ),
  'dry-run': flag('trial: print the steps and what they cost, and do nothing'),
  yes: flag('trial: do not ask before a step that costs something', 'y'),
  folder: option(
    'FOLDER',
    'trial: where results and report go (default .tidewheel/first-day)',
    z.string().default(path.join('.tidewheel', 'first-day')),
  ),
  names: flag('trial: leave account numbers and names in the report'),
  subnet: option('ID', 'trial, step 6: a subnet without a route to S3, and', z.string().optional()),
  'zone-id': option('ID', 'its zone', z.string().optional()),
  'security-group': option('ID', 'a security group', z.string().optional()),
  image: option('AMI', 'an image for hosts', z.string().optional()),
};

type Values = ValuesOf<typeof TRIAL_OPTIONS>;

/** As a shell has it for what SIGINT ended. */
const INTERRUPTED = 130;

const say = (text: string): void => void process.stdout.write(`${printable(text)}\n`);

/** @returns the exit code */
export async function playTrial(values: Values, context: Context): Promise<number> {
  const steps = STEPS.filter(({ number }) => values.only?.includes(number) ?? true);
  const hosts = hostsOf(values);
  if (values['dry-run']) {
    const isLocal = (await context.deployment()).kind === 'local';
    for (const step of steps) say(planLine(step, obstacleTo(step, { isLocal, hosts })));
    say(`\nat most $${steps.reduce((sum, { mostUsd }) => sum + mostUsd, 0).toFixed(2)} together`);
    return 0;
  }
  const chosen = await context.deployment();
  // The environment names another endpoint than AWS's, as a local region has.
  const isLocal = process.env['AWS_ENDPOINT_URL'] !== undefined;
  const needsYes = steps.some((step) => costsSomething(step, { isLocal, hosts }));
  if (needsYes && !values.yes && !process.stdin.isTTY)
    throw new UsageError(['a step that costs something needs a terminal to ask at, or --yes']);
  const deployment = await openDeployment(chosen);
  await usable('--folder', values.folder, () => makeWritable(values.folder));
  const day = dayOf(steps, { ...values, stage: chosen.stage }, { deployment, hosts, isLocal });
  const stopping = new AbortController();
  // The second one ends it at once.
  const stop = () => stopping.abort();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, stop);
  const { signal } = stopping;
  const script = await readFile(path.join(import.meta.dirname, 'train.py'));
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

const explain = (error: unknown): string => networkRemedy(error, process.env) ?? describeError(error);

const dayOf =
  (
    steps: readonly Step[],
    { only, folder, names, stage, yes }: Values & { readonly stage: string },
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

export function checkHosts(values: Values | undefined): readonly string[] {
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
