/** The market in front of the emulator: what is not its own goes through, and EC2's events reach the bus. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  CreateTagsCommand,
  DescribeAvailabilityZonesCommand,
  DescribeSubnetsCommand,
  EC2Client,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2';
import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  ListExecutionsCommand,
  SFNClient,
} from '@aws-sdk/client-sfn';
import { beforeAll, describe, expect, it } from 'vitest';
import { clientConfiguration, TEST_KEY } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { rebalanceRecommendation } from '../../../../test/support/rebalance.ts';
import { interruptionWarning, sendInstanceEvents } from '../../../spot-market/model/instance-events.ts';
import { type LocalMarket, startLocalMarket } from '../../../spot-market/spot-market.ts';

const emulator = emulatorOfSuite();
let market: LocalMarket;
let ec2: EC2Client;

beforeAll(async () => {
  market = await startLocalMarket({ credentials: TEST_KEY, awsEndpointUrl: emulator.url });
  ec2 = new EC2Client(clientConfiguration(market.url));
  return () => market.close();
});

describe('an action that is not the market’s', () => {
  it('is answered by the emulator', async () => {
    const { Subnets = [] } = await ec2.send(
      new DescribeSubnetsCommand({ Filters: [{ Name: 'default-for-az', Values: ['true'] }] }),
    );
    const { AvailabilityZones = [] } = await ec2.send(new DescribeAvailabilityZonesCommand({}));
    const names = new Map(AvailabilityZones.map((zone) => [zone.ZoneId, zone.ZoneName]));
    expect(Subnets.length).toBeGreaterThanOrEqual(3);
    for (const subnet of Subnets) expect(names.get(subnet.AvailabilityZoneId)).toBe(subnet.AvailabilityZone);
  });

  it('changes the emulator’s state', async () => {
    const { Instances } = await ec2.send(
      new RunInstancesCommand({
        ImageId: 'ami-12345678',
        InstanceType: 't3.micro',
        MinCount: 1,
        MaxCount: 1,
      }),
    );
    const id = Instances?.[0]?.InstanceId ?? '';
    expect(id).toMatch(/^i-[0-9a-f]+$/);
    await ec2.send(
      new CreateTagsCommand({ Resources: [id], Tags: [{ Key: 'of', Value: 'the fleet & co' }] }),
    );
  });

  it('keeps the emulator’s own errors', async () => {
    const requested = ec2.send(new DescribeSubnetsCommand({ SubnetIds: ['subnet-00000000000000000'] }));
    await expect(requested).rejects.toMatchObject({ name: 'InvalidSubnetID.NotFound' });
  });

  it('is refused without an emulator', async () => {
    const alone = await startLocalMarket({ credentials: TEST_KEY });
    const lost = await startLocalMarket({ credentials: TEST_KEY, awsEndpointUrl: 'http://127.0.0.1:9' });
    const ask = ({ url }: LocalMarket) =>
      new EC2Client({ ...clientConfiguration(url), maxAttempts: 1 }).send(new DescribeSubnetsCommand({}));
    await expect(ask(alone)).rejects.toMatchObject({ name: 'InvalidAction' });
    await expect(ask(lost)).rejects.toMatchObject({ name: 'Unavailable' });
    await alone.close();
    await lost.close();
  });
});

it('EC2’s warnings reach a rule that listens for them', async () => {
  const events = new EventBridgeClient(clientConfiguration(emulator.url));
  const sfn = new SFNClient(clientConfiguration(emulator.url));
  const role = 'arn:aws:iam::000000000000:role/none';
  const definition = JSON.stringify({ StartAt: 'End', States: { End: { Type: 'Succeed' } } });
  const { stateMachineArn } = await sfn.send(
    new CreateStateMachineCommand({ name: 'hears', roleArn: role, definition }),
  );
  const pattern = {
    source: ['aws.ec2'],
    'detail-type': ['EC2 Spot Instance Interruption Warning', 'EC2 Instance Rebalance Recommendation'],
  };
  await events.send(new PutRuleCommand({ Name: 'spot', EventPattern: JSON.stringify(pattern) }));
  const target = { Id: 'hears', Arn: stateMachineArn, RoleArn: role };
  await events.send(new PutTargetsCommand({ Rule: 'spot', Targets: [target] }));

  const instance = { instanceId: 'i-0123456789abcdef0', zoneId: 'use1-az4', accountId: '000000000000' };
  await sendInstanceEvents(events, [
    rebalanceRecommendation(instance.instanceId, 'us-east-1'),
    interruptionWarning(instance),
  ]);

  const heard = await twoInputs(sfn, stateMachineArn);
  expect(heard).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        'detail-type': 'EC2 Spot Instance Interruption Warning',
        resources: ['arn:aws:ec2:us-east-1d:instance/i-0123456789abcdef0'],
        detail: { 'instance-id': 'i-0123456789abcdef0', 'instance-action': 'terminate' },
      }),
      expect.objectContaining({
        'detail-type': 'EC2 Instance Rebalance Recommendation',
        resources: ['arn:aws:ec2:us-east-1:000000000000:instance/i-0123456789abcdef0'],
        detail: { 'instance-id': 'i-0123456789abcdef0' },
      }),
    ]),
  );
});

async function twoInputs(sfn: SFNClient, stateMachineArn: string | undefined): Promise<unknown[]> {
  for (let tries = 0; tries < 100; tries += 1) {
    const { executions = [] } = await sfn.send(new ListExecutionsCommand({ stateMachineArn }));
    if (executions.length === 2) {
      const described = executions.map(({ executionArn }) =>
        sfn.send(new DescribeExecutionCommand({ executionArn })),
      );
      return (await Promise.all(described)).map(({ input }) => JSON.parse(input ?? 'null'));
    }
    await sleep(50);
  }
  return [];
}

describe('the command line', () => {
  const cli = path.resolve('emulators/spot-market/cli.ts');
  const run = (...args: string[]) => promisify(execFile)(process.execPath, [cli, ...args]);

  it('explains itself', async () => {
    expect((await run('--help')).stdout).toContain('--config-limit');
  });

  it('says what is wrong and how it is written', async () => {
    await expect(run('--script', 'storm')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('seed:NUMBER'),
    });
    await expect(run('--config-limit', 'x')).rejects.toMatchObject({
      stderr: expect.stringContaining('--config-limit is "x": write a whole number'),
    });
  });
});
