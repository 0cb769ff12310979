/** Everything a run on EC2 needs, in one emulator: bucket, table, state machine, the function that answers EC2's events. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CloudWatchLogsClient, CreateLogGroupCommand } from '@aws-sdk/client-cloudwatch-logs';
import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { CreateActivityCommand, GetActivityTaskCommand, SFNClient } from '@aws-sdk/client-sfn';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Reserved } from '@tidewheel/declaration/pipeline.ts';
import { type LocalEc2, type LocalEc2Options, startLocalEc2 } from '@tidewheel/emulators/ec2/local-ec2.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import { eventBridgeNotifier } from '../../../functions/aws/events/event-bridge.ts';
import { agentPublisher } from '../../../functions/aws/lambda/agent.ts';
import { reservationSource } from '../../../functions/aws/market/reservations.ts';
import type { TrainingService } from '../../../functions/launch/job/training-service.ts';
import { readProgress } from '../../../functions/records/progress.ts';
import { launchAttempt } from '../../../functions/run/attempts/launch-attempt.ts';
import { observeAttempt } from '../../../functions/run/attempts/observe-attempt.ts';
import { place } from '../../../functions/run/attempts/place.ts';
import { launchersOver, noFiles } from '../../support/builders/launchers.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import type { ExecutionsGround } from '../../support/contracts/executions.ts';
import { clientConfiguration, projectPython, TEST_KEY } from '../../support/emulator.ts';
import { HandMarket } from '../../support/local-sagemaker.ts';
import { marketSource, viewOf } from '../../support/market/source.ts';
import { makeStores } from '../../support/table.ts';
import { makeExecutions, makeObjectStore } from '../control-plane/ground.ts';
import { deployOnSpotWarning } from './deployed.ts';

export const RUN = 'digits-000001';
export const LOG_GROUP = '/tidewheel/test/hosts';
const STATE_MACHINE = 'arn:aws:states:us-east-1:000000000000:stateMachine:none';
const wallClock = { now: () => new Date() };

const notRequested = () => Promise.reject(new Error('a run on EC2 asked SageMaker'));
const noSageMaker: TrainingService = { create: notRequested, describe: notRequested, stop: notRequested };

const noPlans = () => {
  throw new Error('a run on EC2 asked for a training plan');
};

const market = marketSource(() =>
  viewOf('c5.xlarge', [{ zoneId: 'use1-az1', spotUsd: 0.08, score: 8 }], {
    onDemandUsd: 0.204,
    ec2Usd: 0.17,
  }),
);

export interface GroundOptions {
  readonly bucket: string;
  readonly strategy: string;
  readonly nodes: number;
  readonly script: string;
  readonly shard?: string;
  /** Of the service. Default: the clock on the wall. */
  readonly clock?: Clock;
  /** Where EC2 answers, and what the pipeline declares of it. Default: the emulator, and nothing. */
  readonly ec2Url?: string;
  readonly reserved?: Reserved;
}

export async function makeGround(url: string, options: GroundOptions) {
  const {
    bucket,
    strategy,
    nodes,
    script,
    shard = 'a shard',
    clock = wallClock,
    ec2Url = url,
    reserved,
  } = options;
  const ec2 = new EC2Client(clientConfiguration(ec2Url));
  const events = new EventBridgeClient(clientConfiguration(url));
  const logs = new CloudWatchLogsClient(clientConfiguration(url));
  await logs.send(new CreateLogGroupCommand({ logGroupName: LOG_GROUP }));
  const store = await makeObjectStore(url, bucket);
  const stores = await makeStores(url, bucket);
  const sfn = new SFNClient(clientConfiguration(url));
  const { activityArn = '' } = await sfn.send(new CreateActivityCommand({ name: 'launches' }));
  const waiting: ExecutionsGround = await makeExecutions(url, activityArn, async () => {
    const { taskToken } = await sfn.send(new GetActivityTaskCommand({ activityArn, workerName: 'launch' }));
    if (taskToken === undefined) throw new Error('no execution waits');
    return taskToken;
  });
  const close = await deployOnSpotWarning(url, {
    TIDEWHEEL_BUCKET: bucket,
    TIDEWHEEL_TABLE: bucket,
    TIDEWHEEL_STATE_MACHINE_ARN: STATE_MACHINE,
    TIDEWHEEL_EVENT_BUS: 'default',
  });
  const deps = {
    store,
    blobs: noFiles,
    ...stores,
    clock,
    market,
    reservations: reservationSource({
      ec2: () => ec2,
      sageMaker: noPlans,
      region: 'us-east-1',
      accountId: '000000000000',
    }),
    executions: waiting.executions,
    notifier: eventBridgeNotifier(events, 'default'),
    ...launchersOver({
      training: noSageMaker,
      fleets: makeFleetService({ ec2, store, clock }),
      hostLogGroup: LOG_GROUP,
    }),
    region: 'us-east-1',
    publishAgent: agentPublisher(store, path.join(import.meta.dirname, '../../..')),
  };
  const declaration = declarationOf('digits', {
    training: {
      strategy,
      arguments: ['--out_dir=${checkpoints}', '--from=${checkpoints}/none.pt?', '$$(id)', 'a\nb'],
    },
    compute: {
      instanceTypes: ['c5.xlarge'],
      nodes,
      launcher: 'ec2',
      ...(reserved && { reserved }),
      ec2: { image: 'ami-0123456789abcdef0' },
      vpc: { securityGroupIds: ['sg-01234567'], subnets: [{ id: 'subnet-01234567', zoneId: 'use1-az1' }] },
    },
  });
  const at = clock.now().toISOString();
  await stores.pipelines.ensure('digits', { firstBatch: 1, at });
  await stores.runs.create(runOf('digits', 1, { createdAt: at, updatedAt: at }));
  await stores.runs.closeBatch(runOf('digits', 1), { at, declaration });
  await store.writeText(`${bucketKeys.shards('digits', RUN)}0.tar`, shard);
  await store.writeText(`${bucketKeys.source('digits')}train.py`, script);
  await sealGeneration(store, RUN, { shards: [{ name: '0.tar', bytes: shard.length }] });
  return { url, ec2, events, logs, waiting, deps, close };
}
export type Ground = Awaited<ReturnType<typeof makeGround>>;

/** Place and Launch, as the state machine calls them. */
export async function launch({ deps, waiting }: Ground, attempt: number): Promise<string> {
  const placed = await place(deps, { runId: RUN });
  if (placed.kind !== 'launch') throw new Error(`not placed: ${JSON.stringify(placed)}`);
  await waiting.executions.start({ runId: 'launch', pipeline: 'token', execution: attempt });
  const taskToken = await waiting.tokenOf(`launch-x${attempt}`);
  const { jobName } = await launchAttempt(deps, { runId: RUN, attempt, taskToken });
  return jobName;
}

/** Ids of the job's instances that live, in order. */
export async function instancesOf({ ec2 }: Ground, jobName: string): Promise<string[]> {
  const { Reservations = [] } = await ec2.send(
    new DescribeInstancesCommand({ Filters: [{ Name: 'tag:tidewheel:job', Values: [jobName] }] }),
  );
  return Reservations.flatMap(({ Instances = [] }) => Instances)
    .filter(({ State }) => State?.Name === 'running' || State?.Name === 'pending')
    .flatMap(({ InstanceId }) => InstanceId ?? [])
    .sort();
}

export async function look({ deps }: Ground, attempt: number) {
  const found = await deps.attempts.get(RUN, attempt);
  if (found === undefined) throw new Error(`attempt ${attempt} is not on record`);
  return observeAttempt(deps, found);
}

export const stepOf = async ({ deps }: Ground): Promise<number> =>
  (await readProgress(deps.store, 'digits', RUN))?.step ?? 0;

export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  details: () => Promise<string> = () => Promise.resolve(''),
  seconds = 90,
): Promise<void> {
  const end = Date.now() + seconds * 1_000;
  while (Date.now() < end) {
    if (await holds()) return;
    await sleep(250);
  }
  throw new Error(`not within ${seconds} s: ${what}; ${await details()}`);
}

export const trainingScript = (): Promise<string> =>
  readFile(path.join(import.meta.dirname, 'train.py'), 'utf8');

/** Machines for the instances of the emulator's EC2, beside a market that a test reclaims from by hand. */
export async function startMachines(
  awsEndpointUrl: string,
  stateDirectory: string,
  options: Partial<LocalEc2Options> = {},
) {
  const market = new HandMarket();
  const ec2 = await startLocalEc2({
    stateDirectory,
    awsEndpointUrl,
    credentials: TEST_KEY,
    region: 'us-east-1',
    accountId: '123456789012',
    market,
    pythonPath: projectPython(),
    environmentsDirectory: path.join(stateDirectory, '..', 'environments'),
    subnetZone: () => Promise.resolve('use1-az1'),
    lookMilliseconds: 250,
    ...options,
  });
  return {
    ec2,
    market,
    close: () => ec2.close(),
    hostOf: (instanceId: string) => hostOf(ec2, instanceId),
    printedBy: (instanceId: string) =>
      readFile(path.join(stateDirectory, `${instanceId}.log`), 'utf8').catch(() => ''),
  };
}
export type Machines = Awaited<ReturnType<typeof startMachines>>;

async function hostOf(ec2: LocalEc2, instanceId: string) {
  await until(`${instanceId} is up`, () => ec2.hosts.has(instanceId));
  const host = ec2.hosts.get(instanceId);
  if (host === undefined) throw new Error(`${instanceId} ended at once`);
  return host;
}
