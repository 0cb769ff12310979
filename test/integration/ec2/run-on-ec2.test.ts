/**
 * Runs on EC2 from placement to model, through the loss of hosts: the emulator's EC2, S3, DynamoDB, Step Functions,
 * EventBridge, SQS, Lambda and CloudWatch Logs, the real agent. The emulator's instances have no machines, so the test
 * runs the host's program for them and says on the bus what EC2 says.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { GetLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { TerminateInstancesCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { judgeRun } from '../../../functions/core/judge-run.ts';
import { reportRun } from '../../../functions/core/report-run.ts';
import {
  instanceEnded,
  interruptionWarning,
  sendInstanceEvents,
} from '../../../local/market/instance-events.ts';
import { startTestEmulator, type TestEmulator } from '../emulator.ts';
import {
  type Ground,
  instancesOf,
  LOG_GROUP,
  launch,
  look,
  makeGround,
  RUN,
  stepOf,
  until,
} from './ground.ts';
import { freePorts, type Host, type Ports, startHost, trainingScript } from './host.ts';

const ZONE = { zoneId: 'use1-az1', accountId: '123456789012' };
let emulator: TestEmulator;
let folder: string;
let hosts: Host[];
let ground: Ground | undefined;

beforeEach(async () => {
  hosts = [];
  ground = undefined;
  [emulator, folder] = await Promise.all([
    startTestEmulator(),
    mkdtemp(path.join(os.tmpdir(), 'tidewheel-ec2-')),
  ]);
});

afterEach(async () => {
  await Promise.all(hosts.map((host) => host.lose()));
  ground?.close();
  await emulator.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Machine {
  readonly bucket: string;
  readonly attempt: number;
  readonly instanceId: string;
  readonly number?: number;
  readonly ports?: Ports;
}

/** A process for an instance. */
async function boot({ deps, url }: Ground, machine: Machine): Promise<Host> {
  const { bucket, attempt, instanceId, number = 0, ports } = machine;
  const host = await startHost({
    url,
    folder: path.join(folder, instanceId),
    bucket,
    instanceId,
    pipeline: 'digits',
    runId: RUN,
    attempt,
    agentPrefix: await deps.publishAgent(),
    address: `127.0.0.${number + 1}`,
    ...(ports && { ports }),
  });
  hosts.push(host);
  return host;
}

const logs = () => hosts.map((host, index) => `--- host ${index}\n${host.log()}`).join('\n');

it('resumes a run on EC2 elsewhere after a warning, and ends with a model', async () => {
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
  const first = await boot(made, { bucket, attempt: 1, instanceId });
  await until('a proven step', async () => (await stepOf(made)) >= 5, logs);
  expect(await look(made, 1)).toMatchObject({ kind: 'running' });

  // The host's own metadata service is silent: only EventBridge, the queue and the deployed function tell it.
  await sendInstanceEvents(made.events, [interruptionWarning({ instanceId, ...ZONE })]);
  await first.ended;
  const saved = await stepOf(made);
  expect(saved).toBeLessThan(60);
  expect(await look(made, 1)).toMatchObject({
    kind: 'ended',
    attempt: { launcher: 'ec2', outcome: { kind: 'interrupted' } },
  });
  expect(await waiting.outputOf('launch-1')).toEqual({ attempt: 1, outcome: 'interrupted' });
  expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'place' });

  const secondJob = await launch(made, 2);
  const [secondId = ''] = await instancesOf(made, secondJob);
  const second = await boot(made, { bucket, attempt: 2, instanceId: secondId });
  const code = await second.ended;
  expect({ code, log: second.log() }).toEqual({
    code: 0,
    log: expect.stringContaining(`resumed at ${saved}`),
  });
  expect(await look(made, 2)).toMatchObject({ attempt: { outcome: { kind: 'completed' } } });
  expect(await waiting.outputOf('launch-2')).toEqual({ attempt: 2, outcome: 'completed' });
  expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'done' });

  const report = await reportRun(deps, RUN, { kind: 'done', reason: 'training completed' });
  expect(report).toMatchObject({ status: 'succeeded', interruptions: 1 });
  expect(report.modelUri).toContain(`${secondJob}/output/model.tar.gz`);
  expect(report.timeline.some(({ text }) => text.includes(`log: ${LOG_GROUP}`))).toBe(true);
  expect(await logOf(made, `${secondJob}/${secondId}`)).toContain(`resumed at ${saved}`);
  expect(await deps.launcher.remains()).toEqual([]);
}, 300_000);

it('keeps the host that is left when another dies, and trains on with one in its place', async () => {
  const bucket = 'tw-refilled-gang';
  const made = await makeGround(emulator.url, {
    bucket,
    strategy: 'multi-worker-mirrored',
    nodes: 2,
    script: await trainingScript(),
  });
  ground = made;
  const { deps } = made;
  const jobName = await launch(made, 1);
  const ids = await instancesOf(made, jobName);
  const ports = await freePorts();
  const [leader, other] = await Promise.all(
    ids.map((instanceId, number) => boot(made, { bucket, attempt: 1, instanceId, number, ports })),
  );
  await until('a proven step', async () => (await stepOf(made)) >= 5, logs);

  // kill -9 of the machine that saves; EC2 ends its instance and says so.
  await leader?.lose();
  const before = await stepOf(made);
  const [lostId = '', stayedId = ''] = ids;
  await made.ec2.send(new TerminateInstancesCommand({ InstanceIds: [lostId] }));
  await sendInstanceEvents(made.events, [instanceEnded({ instanceId: lostId, ...ZONE })]);
  await until('an instance in its place', async () => (await instancesOf(made, jobName)).length === 2, logs);
  const [freshId = ''] = (await instancesOf(made, jobName)).filter((id) => id !== stayedId);
  expect(ids).not.toContain(freshId);
  const fresh = await boot(made, { bucket, attempt: 1, instanceId: freshId, number: 2, ports });
  expect({ codes: await Promise.all([other?.ended, fresh.ended]), log: logs() }).toMatchObject({
    codes: [0, 0],
  });

  expect(fresh.log() + (other?.log() ?? '')).toMatch(/resumed at (?!0\b)\d+/);
  expect(before).toBeGreaterThanOrEqual(5);
  // The same attempt, with one interruption more.
  expect(await look(made, 1)).toMatchObject({
    attempt: { attempt: 1, outcome: { kind: 'completed', interruptions: 1 } },
  });
  const timeline = await deps.runs.listTimeline(RUN);
  expect(timeline.filter(({ kind }) => kind === 'HostsReplaced')).toHaveLength(1);
  expect(await deps.runs.listAttempts(RUN)).toHaveLength(1);
  expect(await deps.launcher.remains()).toEqual([]);
}, 300_000);

async function logOf(of: Ground, logStreamName: string): Promise<string> {
  const { events = [] } = await of.logs.send(
    new GetLogEventsCommand({ logGroupName: LOG_GROUP, logStreamName, startFromHead: true }),
  );
  return events.map(({ message }) => message).join('\n');
}
