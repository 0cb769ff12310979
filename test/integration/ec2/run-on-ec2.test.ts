/**
 * Runs on EC2 from placement to model, through the loss of hosts: the emulator's EC2, S3, DynamoDB, Step Functions,
 * EventBridge, SQS, Lambda and CloudWatch Logs, the real agent, and the local EC2, which gives instances their machines.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  interruptionWarning,
  sendInstanceEvents,
} from '@tidewheel/emulators/spot-market/model/instance-events.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cloudWatchLogs } from '../../../functions/aws/logs/log-reader.ts';
import { judgeRun } from '../../../functions/run/attempts/judge-run.ts';
import { reportRun } from '../../../functions/run/attempts/report-run.ts';
import { startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import {
  type Ground,
  instancesOf,
  LOG_GROUP,
  launch,
  look,
  type Machines,
  makeGround,
  RUN,
  startMachines,
  stepOf,
  trainingScript,
  until,
} from './ground.ts';

const ZONE = { zoneId: 'use1-az1', accountId: '123456789012' };
const BOOT_SECONDS = 4;
let emulator: TestEmulator;
let folder: string;
let machines: Machines;
let ground: Ground | undefined;

beforeEach(async () => {
  ground = undefined;
  [emulator, folder] = await Promise.all([
    startTestEmulator(),
    mkdtemp(path.join(os.tmpdir(), 'tidewheel-ec2-')),
  ]);
  machines = await startMachines(emulator.url, path.join(folder, 'ec2'), {
    bootSeconds: () => BOOT_SECONDS,
  });
});

afterEach(async () => {
  await machines.close();
  ground?.close();
  await emulator.stop();
  await rm(folder, { recursive: true, force: true });
});

const outputOf = async (ids: readonly string[]) =>
  (await Promise.all(ids.map((id) => machines.printedBy(id)))).join('\n--- the next host\n');

it('resumes a run in another zone after a warning', async () => {
  const bucket = 'tw-run-on-ec2';
  const made = await makeGround(emulator.url, {
    bucket,
    strategy: 'single',
    nodes: 1,
    script: await trainingScript(),
  });
  ground = made;
  const { deps, waiting } = made;
  const jobName = await launch(made, 1);
  const [instanceId = ''] = await instancesOf(made, jobName);
  const first = await machines.hostOf(instanceId);
  await until(
    'a proven step',
    async () => (await stepOf(made)) >= 5,
    () => outputOf([instanceId]),
  );
  expect(await look(made, 1)).toMatchObject({ kind: 'running' });

  // The host's own metadata service is silent: only EventBridge, the queue and the deployed function tell it.
  await sendInstanceEvents(made.events, [interruptionWarning({ instanceId, ...ZONE })]);
  await first.exited;
  const saved = await stepOf(made);
  expect(saved).toBeLessThan(60);
  expect(await look(made, 1)).toMatchObject({
    kind: 'ended',
    attempt: { launcher: 'ec2', outcome: { kind: 'interrupted' } },
  });
  expect(await waiting.outputOf('launch-x1')).toEqual({ attempt: 1, outcome: 'interrupted' });
  expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'place' });

  const secondJob = await launch(made, 2);
  const [secondId = ''] = await instancesOf(made, secondJob);
  const second = await machines.hostOf(secondId);
  const upMs = Date.now();
  const { exitCode } = await second.exited;
  const ranSeconds = (Date.now() - upMs) / 1_000;
  expect({ exitCode, log: await outputOf([secondId]) }).toEqual({
    exitCode: 0,
    log: expect.stringContaining(`resumed at ${saved}`),
  });
  const ended = await look(made, 2);
  expect(ended).toMatchObject({ attempt: { outcome: { kind: 'completed' } } });
  // Billed from the launch: the boot is in it. A program ends a moment after its last report.
  const billedSeconds = ended.kind === 'ended' ? (ended.attempt.outcome?.trainingSeconds ?? 0) : 0;
  expect(billedSeconds - ranSeconds).toBeGreaterThan(BOOT_SECONDS / 2);
  expect(await waiting.outputOf('launch-x2')).toEqual({ attempt: 2, outcome: 'completed' });
  expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'done' });

  const report = await reportRun(deps, RUN, { kind: 'done', reason: 'training completed' });
  expect(report).toMatchObject({ status: 'succeeded', interruptions: 1 });
  expect(report.modelUri).toContain(`${secondJob}/output/model.tar.gz`);
  expect(report.timeline.some(({ text }) => text.includes(`log: ${LOG_GROUP}`))).toBe(true);
  // Arguments reach the script as typed.
  expect(await linesOf(made, 2)).toContainEqual({
    host: secondId,
    message: `resumed at ${saved} with ["--out_dir=CHECKPOINTS", "$(id)", "a\\nb"]`,
  });
  expect(await deps.launchers.ec2.leftovers?.list()).toEqual([]);
}, 300_000);

it('replaces a dead host and keeps the other', async () => {
  const bucket = 'tw-refilled-gang';
  const made = await makeGround(emulator.url, {
    bucket,
    strategy: 'ddp',
    nodes: 2,
    script: await trainingScript(),
  });
  ground = made;
  const { deps } = made;
  const jobName = await launch(made, 1);
  const ids = await instancesOf(made, jobName);
  const [leaderId = '', stayedId = ''] = ids;
  const [leader, other] = await Promise.all(ids.map((id) => machines.hostOf(id)));
  await until(
    'a proven step',
    async () => (await stepOf(made)) >= 5,
    () => outputOf(ids),
  );

  // kill -9 of the machine that saves: EC2 ends its instance and says so.
  leader?.kill();
  const before = await stepOf(made);
  const living = () => instancesOf(made, jobName);
  await until(
    'an instance in its place',
    async () => (await living()).filter((id) => id !== leaderId).length === 2,
    () => outputOf(ids),
  );
  const [freshId = ''] = (await living()).filter((id) => !ids.includes(id));
  const fresh = await machines.hostOf(freshId);
  const exits = await Promise.all([other?.exited, fresh.exited]);
  const log = await outputOf([stayedId, freshId]);
  expect({ codes: exits.map((exit) => exit?.exitCode), log }).toMatchObject({ codes: [0, 0] });

  expect(log).toMatch(/resumed at (?!0\b)\d+/);
  expect(before).toBeGreaterThanOrEqual(5);
  // The same attempt, with one interruption more.
  expect(await look(made, 1)).toMatchObject({
    attempt: { attempt: 1, outcome: { kind: 'completed', interruptions: 1 } },
  });
  const timeline = await deps.timeline.list(RUN);
  expect(timeline.filter(({ kind }) => kind === 'HostsReplaced')).toHaveLength(1);
  expect(await deps.attempts.list(RUN)).toHaveLength(1);
  // The function that hears of the hosts' end may have recorded it: it releases the fleet after that.
  await until(
    'no host left over',
    async () => (await deps.launchers.ec2.leftovers?.list())?.length === 0,
    () => outputOf(ids),
  );
}, 300_000);

/** As the API reads them. */
async function linesOf({ deps, logs }: Ground, attempt: number) {
  const record = await deps.attempts.get(RUN, attempt);
  if (record?.log === undefined) throw new Error(`attempt ${attempt} is not on record`);
  const range = { ...record.log, from: 0, to: Date.now(), limit: 1_000 };
  const lines = await cloudWatchLogs(() => logs, 'us-east-1').read(range);
  return lines.map(({ host, text }) => ({ host, message: text }));
}
