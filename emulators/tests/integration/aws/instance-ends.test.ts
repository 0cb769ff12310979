/** Why an instance ended, and for how long EC2 tells it. */
import { join } from 'node:path';
import {
  DescribeInstancesCommand,
  EC2Client,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  clientConfiguration,
  startTestEmulator,
  type TestEmulator,
} from '../../../../test/support/emulator.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { VirtualClock } from '../../../clock/virtual-clock.ts';
import { type EndReason, terminateInstance } from '../../../ec2/instances.ts';

let emulator: TestEmulator;
const folder = folderOfSuite('ends');
let clock: VirtualClock;
beforeAll(async () => {
  const clockFile = join(folder, 'clock');
  clock = new VirtualClock({ file: clockFile, startMs: Date.now(), log: () => undefined });
  emulator = await startTestEmulator({ clockFile });
  clock.start();
});
afterAll(async () => {
  await clock.close();
  await emulator.stop();
});

const minutesLater = (minutes: number): Promise<void> =>
  new Promise((resolve) => clock.at(clock.now() + minutes * 60_000, resolve));

async function run(ec2: EC2Client): Promise<string> {
  const { Instances } = await ec2.send(
    new RunInstancesCommand({ ImageId: 'ami-0123456789abcdef0', MinCount: 1, MaxCount: 1 }),
  );
  return Instances?.[0]?.InstanceId ?? '';
}

async function describe(ec2: EC2Client, instanceId: string) {
  const { Reservations } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [instanceId] }));
  return Reservations?.[0]?.Instances?.[0];
}

it('names who ended it first', async () => {
  const ec2 = new EC2Client(clientConfiguration(emulator.url));
  const byCaller = await run(ec2);
  expect((await describe(ec2, byCaller))?.StateReason).toBeUndefined();
  await ec2.send(new TerminateInstancesCommand({ InstanceIds: [byCaller] }));
  await terminateInstance(ec2, byCaller, 'Server.SpotInstanceTermination');
  expect(await describe(ec2, byCaller)).toMatchObject({
    State: { Name: 'terminated' },
    StateReason: {
      Code: 'Client.UserInitiatedShutdown',
      Message: 'Client.UserInitiatedShutdown: User initiated shutdown',
    },
  });
  const bySpot = await run(ec2);
  await terminateInstance(ec2, bySpot, 'Server.SpotInstanceTermination');
  await ec2.send(new TerminateInstancesCommand({ InstanceIds: [bySpot] }));
  expect((await describe(ec2, bySpot))?.StateReason).toMatchObject({
    Code: 'Server.SpotInstanceTermination',
  });
});

it('refuses a reason that EC2 does not have', async () => {
  const ec2 = new EC2Client(clientConfiguration(emulator.url));
  const instanceId = await run(ec2);
  const unknown = 'Server.Weather' as EndReason;
  await expect(terminateInstance(ec2, instanceId, unknown)).rejects.toMatchObject({
    name: 'InvalidParameterValue',
  });
  expect((await describe(ec2, instanceId))?.State?.Name).toBe('running');
});

it('is known for an hour', async () => {
  const ec2 = new EC2Client(clientConfiguration(emulator.url));
  const instanceId = await run(ec2);
  await ec2.send(new TerminateInstancesCommand({ InstanceIds: [instanceId] }));
  await minutesLater(59);
  expect((await describe(ec2, instanceId))?.StateReason?.Code).toBe('Client.UserInitiatedShutdown');
  await minutesLater(2);
  await expect(describe(ec2, instanceId)).rejects.toMatchObject({ name: 'InvalidInstanceID.NotFound' });
});
