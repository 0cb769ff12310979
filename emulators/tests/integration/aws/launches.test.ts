/** What EC2 does with a client token that it has answered, and with an instance profile that it does not see yet. */
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

let emulator: TestEmulator;
let ec2: EC2Client;
beforeAll(async () => {
  emulator = await startTestEmulator();
  ec2 = new EC2Client(clientConfiguration(emulator.url));
});
afterAll(() => emulator.stop());

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

it('makes nothing for a token that was answered', async () => {
  await ec2.send(template('again', 'spent'));
  await ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: 'again' }));
  await ec2.send(template('again', 'spent'));
  expect(await templatesOf(ec2, 'again')).toBe(0);
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

it('launches a gang of one type, the first', async () => {
  await ec2.send(template('gang', 'gang'));
  const types = ['g5.xlarge', 'g6.xlarge'] as const;
  const { Instances } = await ec2.send(
    new CreateFleetCommand({
      Type: 'instant',
      LaunchTemplateConfigs: [
        {
          LaunchTemplateSpecification: { LaunchTemplateName: 'gang', Version: '1' },
          Overrides: types.map((InstanceType, Priority) => ({ InstanceType, Priority })),
        },
      ],
      TargetCapacitySpecification: { TotalTargetCapacity: 2, DefaultTargetCapacityType: 'on-demand' },
      OnDemandOptions: { AllocationStrategy: 'prioritized', SingleInstanceType: true, MinTargetCapacity: 2 },
    }),
  );
  expect(Instances).toMatchObject([{ InstanceType: 'g5.xlarge' }]);
  expect(Instances?.[0]?.InstanceIds).toHaveLength(2);
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
