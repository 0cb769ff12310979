/** What EC2 does with a client token that it has answered, and with an instance profile that it does not see yet. */
import { rm } from 'node:fs/promises';
import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  DeleteLaunchTemplateCommand,
  DescribeLaunchTemplatesCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import { CreateInstanceProfileCommand, IAMClient } from '@aws-sdk/client-iam';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  clientConfiguration,
  startTestEmulator,
  type TestEmulator,
} from '../../../../test/support/emulator.ts';
import { startUnpatched, type Unpatched } from './unpatched.ts';

let emulator: TestEmulator;
let plain: Unpatched;
let ec2: EC2Client;
beforeAll(async () => {
  [emulator, plain] = await Promise.all([startTestEmulator(), startUnpatched()]);
  ec2 = new EC2Client(clientConfiguration(emulator.url));
});
afterAll(async () => {
  plain.child.kill('SIGKILL');
  await emulator.stop();
  await rm(plain.folder, { recursive: true, force: true });
});

const template = (LaunchTemplateName: string, ClientToken: string, profileArn?: string) =>
  new CreateLaunchTemplateCommand({
    LaunchTemplateName,
    ClientToken,
    LaunchTemplateData: {
      ImageId: 'ami-0123456789abcdef0',
      ...(profileArn !== undefined && { IamInstanceProfile: { Arn: profileArn } }),
    },
  });
const fleet = (LaunchTemplateName: string, ClientToken: string, TotalTargetCapacity = 1) =>
  new CreateFleetCommand({
    ClientToken,
    Type: 'instant',
    LaunchTemplateConfigs: [{ LaunchTemplateSpecification: { LaunchTemplateName, Version: '1' } }],
    TargetCapacitySpecification: { TotalTargetCapacity, DefaultTargetCapacityType: 'spot' },
  });
const templatesOf = async (client: EC2Client, name: string) => {
  const { LaunchTemplates = [] } = await client.send(new DescribeLaunchTemplatesCommand({}));
  return LaunchTemplates.filter(({ LaunchTemplateName }) => LaunchTemplateName === name).length;
};

async function deletedAndCreatedAgain(client: EC2Client): Promise<number> {
  await client.send(template('again', 'spent'));
  await client.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: 'again' }));
  await client.send(template('again', 'spent'));
  return templatesOf(client, 'again');
}

it('makes nothing for a token that was answered', async () => {
  expect(await deletedAndCreatedAgain(ec2)).toBe(0);
});

it('without our patch makes it again', async () => {
  expect(await deletedAndCreatedAgain(new EC2Client(clientConfiguration(plain.url)))).toBe(1);
});

it('launches one fleet a token, and no other', async () => {
  await ec2.send(template('fleets', 'fleets'));
  const first = await ec2.send(fleet('fleets', 'one'));
  expect(first.Instances?.[0]?.InstanceIds).toHaveLength(1);
  expect(await ec2.send(fleet('fleets', 'one'))).toMatchObject({ FleetId: first.FleetId });
  await expect(ec2.send(fleet('fleets', 'one', 2))).rejects.toMatchObject({
    name: 'IdempotentParameterMismatch',
  });
});

it('spends no token on a request that failed', async () => {
  await expect(ec2.send(fleet('later', 'kept'))).rejects.toThrow('does not exist');
  await ec2.send(template('later', 'later'));
  expect((await ec2.send(fleet('later', 'kept'))).Instances).toHaveLength(1);
});

it('launches no instance with a profile that is new', async () => {
  const iam = new IAMClient(clientConfiguration(emulator.url));
  const { InstanceProfile } = await iam.send(
    new CreateInstanceProfileCommand({ InstanceProfileName: 'fresh' }),
  );
  await ec2.send(template('profiled', 'profiled', InstanceProfile?.Arn));
  const refused = await ec2.send(fleet('profiled', 'profiled'));
  expect(refused.Instances).toEqual([]);
  expect(refused.Errors).toMatchObject([
    {
      ErrorCode: 'InvalidParameterValue',
      ErrorMessage: expect.stringContaining('Invalid IAM Instance Profile ARN'),
    },
  ]);
});
