/** Downloads of minutes before the script starts, with the figures of an account, on a virtual clock. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Channel, DescribeTrainingJobResponse, TrainingInstanceType } from '@aws-sdk/client-sagemaker';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestEmulator, type TestEmulator } from '../../../../test/support/emulator.ts';
import { type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';
import { VirtualClock } from '../../../clock/virtual-clock.ts';
import { sageMakerLimits } from '../../../region/account-limits.ts';

/** Stands for this many bytes of a dataset. */
const SCALE = 1e7;
const DATA = 'x'.repeat(15_000);
const GIGABYTES_150_AT_5_GBPS = 240;

let emulator: TestEmulator;
let folder: string;
let clock: VirtualClock;
let ground: Ground;

beforeAll(async () => {
  [emulator, folder] = await Promise.all([
    startTestEmulator(),
    mkdtemp(join(tmpdir(), 'tidewheel-downloads-')),
  ]);
});

afterAll(async () => {
  await emulator?.stop();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  clock = new VirtualClock({ file: join(folder, 'clock'), startMs: 0, log: () => undefined });
  const { downloadSeconds, imageSeconds } = sageMakerLimits('default');
  ground = await layGround(emulator.url, {
    clock,
    imageSeconds,
    downloadSeconds: (type, bytes) => downloadSeconds(type, bytes * SCALE),
  });
  await ground.put('data/0.tar', DATA);
});

afterEach(async () => {
  await ground.close();
  await clock.close();
});

async function create(mode: 'File' | 'FastFile', maximumRunSeconds = 3_600): Promise<string> {
  const train: Channel = {
    ChannelName: 'train',
    InputMode: mode,
    DataSource: { S3DataSource: { S3DataType: 'S3Prefix', S3Uri: `s3://${ground.bucket}/data/` } },
  };
  return ground.create({
    script: 'print("trains")',
    InputDataConfig: [train],
    EnableManagedSpotTraining: true,
    ResourceConfig: {
      InstanceType: 'ml.p3.8xlarge' as TrainingInstanceType,
      InstanceCount: 2,
      VolumeSizeInGB: 1,
    },
    StoppingCondition: { MaxRuntimeInSeconds: maximumRunSeconds, MaxWaitTimeInSeconds: 7_200 },
  });
}

const downloadsOf = ({ SecondaryStatusTransitions = [] }: DescribeTrainingJobResponse) =>
  SecondaryStatusTransitions.filter(({ Status }) => Status === 'Downloading').map(
    ({ StatusMessage, StartTime, EndTime }) => [
      StatusMessage,
      Math.round(((EndTime?.getTime() ?? Number.NaN) - (StartTime?.getTime() ?? Number.NaN)) / 1_000),
    ],
  );

const DATA_FIRST = 'Downloading input data';
/** The message of a transition is the last of its status. */
const IMAGE = 'Downloading the training image';

test('data and image are downloaded on the bill', async () => {
  clock.start();
  const described = await ground.ended(await create('File'));
  expect(described.TrainingJobStatus).toBe('Completed');
  expect(downloadsOf(described)).toEqual([[IMAGE, GIGABYTES_150_AT_5_GBPS + 120]]);
  // A second that has begun is billed.
  expect(described.TrainingTimeInSeconds).toBe(GIGABYTES_150_AT_5_GBPS + 120 + 1);
});

test('streamed data is not waited for', async () => {
  clock.start();
  const described = await ground.ended(await create('FastFile'));
  expect(downloadsOf(described)).toEqual([[IMAGE, 120]]);
});

test('a download longer than the limit ends the job', async () => {
  clock.start();
  const described = await ground.ended(await create('File', 100));
  expect(described).toMatchObject({
    TrainingJobStatus: 'Stopped',
    SecondaryStatus: 'MaxRuntimeExceeded',
    TrainingTimeInSeconds: 100,
  });
});

test('an interrupted download begins again elsewhere', async () => {
  const name = await create('File');
  await ground.until(name, ({ SecondaryStatus }) => SecondaryStatus === 'Downloading');
  ground.market.reclaim(120);
  await ground.until(name, ({ SecondaryStatusTransitions = [] }) =>
    SecondaryStatusTransitions.some(({ Status }) => Status === 'Interrupted'),
  );
  clock.start();
  const described = await ground.ended(name);
  expect(described.TrainingJobStatus).toBe('Completed');
  expect(downloadsOf(described)).toEqual([
    [DATA_FIRST, 0],
    [IMAGE, GIGABYTES_150_AT_5_GBPS + 120],
  ]);
});

test('a download that is cut is billed', async () => {
  const name = await create('File');
  clock.at(100_000, () => ground.market.reclaim(120));
  clock.start();
  const described = await ground.ended(name);
  expect(described.TrainingJobStatus).toBe('Completed');
  expect(downloadsOf(described)).toEqual([
    [DATA_FIRST, 100],
    [IMAGE, GIGABYTES_150_AT_5_GBPS + 120],
  ]);
  // A second that has begun is billed.
  expect(described.TrainingTimeInSeconds).toBe(100 + GIGABYTES_150_AT_5_GBPS + 120 + 1);
});
