/** What a job waits for before its first byte, with the figures of an account, on a virtual clock. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CreateTrainingJobRequest,
  type DescribeTrainingJobResponse,
  StopTrainingJobCommand,
} from '@aws-sdk/client-sagemaker';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestEmulator, type TestEmulator } from '../../../../test/support/emulator.ts';
import { type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';
import { VirtualClock } from '../../../clock/virtual-clock.ts';
import { sageMakerLimits } from '../../../region/account-limits.ts';

let emulator: TestEmulator;
let folder: string;
let clock: VirtualClock;
let ground: Ground;

beforeAll(async () => {
  [emulator, folder] = await Promise.all([startTestEmulator(), mkdtemp(join(tmpdir(), 'tidewheel-delays-'))]);
});

afterAll(async () => {
  await emulator?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** It stands until a test starts it. */
beforeEach(async () => {
  clock = new VirtualClock({ file: join(folder, 'clock'), startMs: 0, log: () => undefined });
  const { pendingSeconds, preparationSeconds } = sageMakerLimits('default');
  ground = await layGround(emulator.url, { clock, pendingSeconds, preparationSeconds });
});

afterEach(async () => {
  await ground.close();
  await clock.close();
});

const job = (
  InstanceType: string,
  isSpot: boolean,
): Partial<CreateTrainingJobRequest> & { script: string } => ({
  script: 'print("trains")',
  ResourceConfig: {
    InstanceType,
    InstanceCount: 2,
    VolumeSizeInGB: 1,
  } as CreateTrainingJobRequest['ResourceConfig'],
  ...(isSpot && {
    EnableManagedSpotTraining: true,
    StoppingCondition: { MaxRuntimeInSeconds: 3_600, MaxWaitTimeInSeconds: 7_200 },
  }),
});

const seconds = (later: Date | undefined, earlier: Date | undefined): number =>
  ((later?.getTime() ?? Number.NaN) - (earlier?.getTime() ?? Number.NaN)) / 1_000;

const waitsOf = ({ SecondaryStatusTransitions = [] }: DescribeTrainingJobResponse) =>
  SecondaryStatusTransitions.map(({ Status, StatusMessage, StartTime, EndTime }) => [
    Status,
    StatusMessage,
    seconds(EndTime, StartTime),
  ]);

const says = (message: string) => (described: DescribeTrainingJobResponse) =>
  described.SecondaryStatusTransitions?.at(-1)?.StatusMessage === message;
const PREPARING = 'Preparing the instances for training.';
const STARVED = 'Insufficient capacity error from EC2 while launching instances, retrying!';

test('instances are prepared before anything is billed', async () => {
  clock.start();
  const described = await ground.ended(await ground.create(job('ml.p3.16xlarge', true)));
  expect(described.TrainingJobStatus).toBe('Completed');
  expect(waitsOf(described).slice(0, 2)).toEqual([
    ['Starting', PREPARING, 1_500],
    ['Downloading', 'Downloading input data', 0],
  ]);
  expect(seconds(described.TrainingStartTime, described.CreationTime)).toBe(1_500);
  // No time passes while programs run, and SageMaker bills a second that has begun.
  expect(described).toMatchObject({ TrainingTimeInSeconds: 1, BillableTimeInSeconds: 1 });
});

test('On-Demand jobs for whole machines wait in Pending', async () => {
  clock.start();
  const described = await ground.ended(await ground.create(job('ml.p4d.24xlarge', false)));
  expect(described.TrainingJobStatus).toBe('Completed');
  expect(waitsOf(described).slice(0, 3)).toEqual([
    ['Starting', 'Starting the training job.', 0],
    ['Pending', STARVED, 21_600],
    ['Starting', PREPARING, 1_500],
  ]);
  expect(described).toMatchObject({ TrainingTimeInSeconds: 1, BillableTimeInSeconds: 1 });
});

test('MaxPendingTimeInSeconds ends the wait', async () => {
  clock.start();
  const described = await ground.ended(
    await ground.create({
      ...job('ml.p4d.24xlarge', false),
      StoppingCondition: { MaxRuntimeInSeconds: 3_600, MaxPendingTimeInSeconds: 7_200 },
    }),
  );
  expect(described).toMatchObject({ TrainingJobStatus: 'Stopped', SecondaryStatus: 'Stopped' });
  expect(waitsOf(described)[1]).toEqual(['Pending', STARVED, 7_200]);
  expect(described.BillableTimeInSeconds).toBeUndefined();
});

test('On-Demand jobs on CPUs fail without capacity', async () => {
  ground.market.isOpen = false;
  clock.start();
  const described = await ground.ended(await ground.create(job('ml.c5.xlarge', false)));
  expect(described.FailureReason).toBe(
    'CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type.',
  );
  expect(waitsOf(described)[0]?.[2]).toBe(900);
});

test('small types are prepared in minutes and never Pending', async () => {
  clock.start();
  const described = await ground.ended(await ground.create(job('ml.g5.xlarge', false)));
  expect(waitsOf(described)[0]).toEqual(['Starting', PREPARING, 120]);
});

test('a reclaim during preparation launches again', async () => {
  const name = await ground.create(job('ml.p3.16xlarge', true));
  await ground.until(name, says(PREPARING));
  ground.market.isOpen = false;
  ground.market.reclaim(120);
  await ground.until(name, says(STARVED));
  expect(ground.market.leasesHeld).toBe(0);
  ground.market.open();
  await ground.until(name, says(PREPARING));
  clock.start();
  const described = await ground.ended(name);
  expect(described).toMatchObject({ TrainingJobStatus: 'Completed', TrainingTimeInSeconds: 1 });
  expect(waitsOf(described).map(([status]) => status)).not.toContain('Interrupted');
});

test('a job stopped during preparation costs nothing', async () => {
  const name = await ground.create(job('ml.p3.16xlarge', true));
  await ground.until(name, says(PREPARING));
  await ground.sageMaker.send(new StopTrainingJobCommand({ TrainingJobName: name }));
  const described = await ground.ended(name);
  expect(described.TrainingJobStatus).toBe('Stopped');
  expect(described.TrainingStartTime).toBeUndefined();
  expect(described.BillableTimeInSeconds).toBeUndefined();
  await expect.poll(() => ground.market.leasesHeld).toBe(0);
});
