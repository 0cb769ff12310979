/** The first attempt of a pipeline on EC2: its instance profile is new, and EC2 sees it only some seconds later. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DescribeLaunchTemplatesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { CreatePolicyCommand, IAMClient } from '@aws-sdk/client-iam';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { VirtualClock } from '@tidewheel/emulators/clock/virtual-clock.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import { hostProfiles } from '../../../functions/aws/iam/pipeline-roles.ts';
import { makeEc2Launcher, makeEc2Starter } from '../../../functions/launch/ec2/ec2-launcher.ts';
import { fleetInput } from '../../support/builders/fleet.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';

const BUCKET = 'tw-data';
let emulator: TestEmulator;
let folder: string;
let time: VirtualClock;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidewheel-first-'));
  const clockFile = join(folder, 'clock');
  time = new VirtualClock({ file: clockFile, startMs: Date.now(), log: () => undefined });
  emulator = await startTestEmulator({ clockFile });
  time.start();
});

afterAll(async () => {
  await time.close();
  await emulator.stop();
  await rm(folder, { recursive: true, force: true });
});

const secondsLater = (seconds: number): Promise<void> =>
  new Promise((resolve) => time.at(time.now() + seconds * 1_000, resolve));

async function firstAttempt() {
  const configuration = clientConfiguration(emulator.url);
  const ec2 = new EC2Client(configuration);
  const iam = new IAMClient(configuration);
  const s3 = new S3Client({ ...configuration, forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  const Statement = [{ Effect: 'Allow', Action: 's3:ListBucket', Resource: '*' }];
  const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement });
  const { Policy } = await iam.send(new CreatePolicyCommand({ PolicyName: 'hosts', PolicyDocument }));
  const clock = { now: () => new Date(time.now()) };
  const fleets = makeFleetService({ ec2, store: objectStoreOf(s3, BUCKET), clock });
  const kind = { policyArn: Policy?.Arn ?? '', path: '/tidewheel/test/us-east-1/hosts/' };
  const starter = makeEc2Starter(fleets, { role: hostProfiles({ iam, clock, kind }) });
  const prepared = starter.prepare(fleetInput({ instanceType: 'c5.xlarge', nodes: 2 }));
  if (prepared.kind !== 'prepared') throw new Error('the fixture is wrong');
  const templates = async () =>
    (await ec2.send(new DescribeLaunchTemplatesCommand({}))).LaunchTemplates?.length;
  return { prepared, templates, leftovers: makeEc2Launcher(fleets).leftovers };
}

it('starts once EC2 sees its profile', async () => {
  const { prepared, templates, leftovers } = await firstAttempt();
  const refused = { kind: 'throttled', message: expect.stringContaining('Invalid IAM Instance Profile ARN') };
  expect(await prepared.start()).toMatchObject(refused);
  await secondsLater(1);
  expect(await prepared.start()).toMatchObject(refused);
  await secondsLater(6);
  expect(await prepared.start()).toMatchObject({ kind: 'created' });
  expect(await prepared.start()).toEqual({ kind: 'alreadyExists' });
  expect(await templates()).toBe(1);
  const [job = ''] = (await leftovers?.list()) ?? [];
  await leftovers?.release(job);
  expect(await templates()).toBe(0);
});
