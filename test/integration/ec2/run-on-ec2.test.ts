/**
 * A run on EC2 from placement to model, through an interruption: the emulator's EC2, S3, DynamoDB, Step Functions and
 * EventBridge, the real agent. The emulator's instances have no machines, so the test runs the host's program for them.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { CreateActivityCommand, GetActivityTaskCommand, SFNClient } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agentPublisher } from '../../../functions/aws/agent.ts';
import { makeFleetService } from '../../../functions/aws/ec2-fleet-service.ts';
import { eventBridgeNotifier } from '../../../functions/aws/notifier.ts';
import { judgeRun } from '../../../functions/core/judge-run.ts';
import { makeLauncher } from '../../../functions/core/launch/launcher.ts';
import type { TrainingService } from '../../../functions/core/launch/port.ts';
import { launchAttempt } from '../../../functions/core/launch-attempt.ts';
import { layout } from '../../../functions/core/layout.ts';
import { observeAttempt } from '../../../functions/core/observe-attempt.ts';
import { place } from '../../../functions/core/placement/place.ts';
import type { MarketSource } from '../../../functions/core/placement/port.ts';
import { readProgress } from '../../../functions/core/progress.ts';
import { reportRun } from '../../../functions/core/report-run.ts';
import { takeSpotWarnings } from '../../../functions/core/spot-warnings.ts';
import { interruptionWarning } from '../../../local/market/instance-events.ts';
import type { ExecutionsGround } from '../../suites/executions.ts';
import { declarationOf, runOf } from '../../suites/records.ts';
import { makeExecutions, makeObjectStore, makeRunStore } from '../control-plane/ground.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../emulator.ts';
import { type Host, startHost, trainingScript } from './host.ts';

const BUCKET = 'tw-run-on-ec2';
const RUN = 'digits-000001';
const clock = { now: () => new Date() };
let emulator: TestEmulator;
let folder: string;
const hosts: Host[] = [];

beforeAll(async () => {
  emulator = await startTestEmulator();
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-ec2-'));
});

afterAll(async () => {
  for (const host of hosts) host.stop();
  await emulator.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The emulator has no SageMaker: here it knows no job, and must not be asked for one. */
const noSageMaker: TrainingService = {
  create: () => Promise.reject(new Error('a run on EC2 asked SageMaker for a job')),
  describe: () => Promise.resolve(undefined),
  stop: () => Promise.resolve('notFound'),
};

const known = <T>(value: T) => Promise.resolve({ kind: 'known' as const, value, notes: [] });
const market: MarketSource = {
  region: 'us-east-1',
  scores: () => known([{ zoneId: 'use1-az1', score: 8 }]),
  spotPrices: () =>
    known([{ instanceType: 'c5.xlarge', zoneId: 'use1-az1', hourlyUsd: 0.08, basis: 'asked' as const }]),
  zones: () => known([{ zoneId: 'use1-az1', zoneName: 'us-east-1a' }]),
  onDemandPrices: () =>
    known([
      { instanceType: 'c5.xlarge', hourlyUsd: 0.204, basis: 'listed' as const, note: '', ec2HourlyUsd: 0.17 },
    ]),
};

async function makeGround() {
  const { url } = emulator;
  const ec2 = new EC2Client(clientConfiguration(url));
  const store = await makeObjectStore(url, BUCKET);
  const runs = await makeRunStore(url, 'tw-run-on-ec2');
  const sfn = new SFNClient(clientConfiguration(url));
  const { activityArn = '' } = await sfn.send(new CreateActivityCommand({ name: 'launches' }));
  const waiting: ExecutionsGround = await makeExecutions(url, activityArn, async () => {
    const { taskToken } = await sfn.send(new GetActivityTaskCommand({ activityArn, workerName: 'launch' }));
    if (taskToken === undefined) throw new Error('no execution waits');
    return taskToken;
  });
  const deps = {
    store,
    runs,
    clock,
    market,
    executions: waiting.executions,
    notifier: eventBridgeNotifier(new EventBridgeClient(clientConfiguration(url)), 'default'),
    launcher: makeLauncher({ training: noSageMaker, fleets: makeFleetService({ ec2, store, clock }) }),
    region: 'us-east-1',
    trainingRoleArn: 'arn:aws:iam::123456789012:role/training',
    hostProfileArn: 'arn:aws:iam::123456789012:instance-profile/hosts',
    publishAgent: agentPublisher(store, path.join(import.meta.dirname, '../../..')),
  };
  const declaration = declarationOf('digits', {
    training: { strategy: 'single' },
    compute: {
      instanceTypes: ['c5.xlarge'],
      launcher: 'ec2',
      ec2: { image: 'ami-0123456789abcdef0' },
      vpc: { securityGroupIds: ['sg-01234567'], subnets: [{ id: 'subnet-01234567', zoneId: 'use1-az1' }] },
    },
  });
  const at = clock.now().toISOString();
  await runs.ensurePipeline('digits', { firstBatch: 1, at });
  await runs.createRun(runOf('digits', 1, { createdAt: at, updatedAt: at }));
  await runs.closeBatch(runOf('digits', 1), { at, declaration });
  await store.writeText(`${layout.shards('digits', RUN)}0.tar`, 'a shard');
  await store.writeText(`${layout.source('digits')}train.py`, await trainingScript());
  await store.writeText(
    layout.manifest('digits', RUN),
    JSON.stringify({ shards: [{ name: '0.tar', bytes: 7 }] }),
  );
  return { ec2, waiting, deps };
}
type Ground = Awaited<ReturnType<typeof makeGround>>;

/** Place and Launch, as the state machine calls them, and a process for the instance that came of it. */
async function launch({ deps, waiting, ec2 }: Ground, attempt: number) {
  expect(await place(deps, { runId: RUN })).toMatchObject({ kind: 'launch', attempt });
  await waiting.executions.start(`launch-${attempt}`, { mode: 'token' });
  const taskToken = await waiting.tokenOf(`launch-${attempt}`);
  const { jobName } = await launchAttempt(deps, { runId: RUN, attempt, taskToken });
  const { Reservations = [] } = await ec2.send(
    new DescribeInstancesCommand({ Filters: [{ Name: 'tag:tidewheel:job', Values: [jobName] }] }),
  );
  const [instanceId = ''] = Reservations.flatMap(({ Instances = [] }) => Instances).flatMap(
    ({ InstanceId }) => InstanceId ?? [],
  );
  const host = await startHost({
    url: emulator.url,
    folder: path.join(folder, String(attempt)),
    bucket: BUCKET,
    instanceId,
    pipeline: 'digits',
    runId: RUN,
    attempt,
    agentPrefix: await deps.publishAgent(),
  });
  hosts.push(host);
  return { host, instanceId, jobName };
}

async function look({ deps }: Ground, attempt: number) {
  const found = await deps.runs.getAttempt(RUN, attempt);
  if (found === undefined) throw new Error(`attempt ${attempt} is not on record`);
  return observeAttempt(deps, found);
}

const stepOf = async ({ deps }: Ground): Promise<number> =>
  (await readProgress(deps.store, 'digits', RUN))?.step ?? 0;

async function until(what: string, holds: () => Promise<boolean>, seconds = 45): Promise<void> {
  for (let left = seconds * 2; left > 0; left -= 1) {
    if (await holds()) return;
    await sleep(500);
  }
  throw new Error(`not within ${seconds} s: ${what}; ${hosts.at(-1)?.log()}`);
}

it('resumes a run on EC2 elsewhere after a warning, and ends with a model', async () => {
  const ground = await makeGround();
  const { deps, waiting } = ground;
  const first = await launch(ground, 1);
  await until('a proven step', async () => (await stepOf(ground)) >= 5);
  expect(await look(ground, 1)).toMatchObject({ kind: 'running' });

  first.host.takeBack();
  const event = interruptionWarning({
    instanceId: first.instanceId,
    zoneId: 'use1-az1',
    accountId: '123456789012',
  });
  const body = JSON.stringify({
    source: event.Source,
    'detail-type': event.DetailType,
    detail: JSON.parse(event.Detail ?? '{}') as unknown,
  });
  const { failed, notes } = await takeSpotWarnings(deps, [{ messageId: 'm1', body }]);
  expect({ failed, notes }).toEqual({ failed: [], notes: [`${first.jobName}: takenBack`] });
  await first.host.ended;
  const saved = await stepOf(ground);
  expect(saved).toBeLessThan(60);
  expect(await look(ground, 1)).toMatchObject({
    kind: 'ended',
    attempt: { launcher: 'ec2', outcome: { kind: 'interrupted' } },
  });
  expect(await waiting.outputOf('launch-1')).toEqual({ attempt: 1, outcome: 'interrupted' });
  expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'place' });

  const second = await launch(ground, 2);
  const code = await second.host.ended;
  expect({ code, log: second.host.log() }).toEqual({
    code: 0,
    log: expect.stringContaining(`resumed at ${saved}`),
  });
  expect(await look(ground, 2)).toMatchObject({ attempt: { outcome: { kind: 'completed' } } });
  expect(await waiting.outputOf('launch-2')).toEqual({ attempt: 2, outcome: 'completed' });
  const judged = await judgeRun(deps, { runId: RUN });
  expect(judged).toMatchObject({ kind: 'done' });

  const report = await reportRun(deps, RUN, { kind: 'done', reason: 'training completed' });
  expect(report).toMatchObject({ status: 'succeeded', interruptions: 1 });
  expect(report.modelUri).toContain(`${second.jobName}/output/model.tar.gz`);
  expect(await deps.launcher.remains()).toEqual([]);
}, 120_000);
