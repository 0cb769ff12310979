/** The console output of hosts that wrote no report. */
import { DescribeInstancesCommand, EC2Client, GetConsoleOutputCommand } from '@aws-sdk/client-ec2';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import { planOf } from '../../support/builders/fleet.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';

const LAUNCHED = '2026-11-21T04:00:00.000Z';
const ec2 = mockClient(EC2Client);
const base64 = (text: string) => ({ Output: Buffer.from(text).toString('base64') });

async function setUp(seconds: number) {
  const clock = fakeClock(LAUNCHED);
  const plan = planOf({ nodes: 2 });
  const store = memoryObjectStore(clock, 'tw-data');
  for (const { key, text } of plan.objects) await store.writeText(key, text);
  clock.advance(seconds);
  const Instances = ['i-1', 'i-2'].map((InstanceId) => ({
    InstanceId,
    State: { Name: 'running' as const },
    LaunchTime: new Date(LAUNCHED),
  }));
  ec2.on(DescribeInstancesCommand).resolves({ Reservations: [{ Instances }] });
  const describeIt = () => makeFleetService({ ec2: new EC2Client({}), store, clock }).describe(plan.name);
  return { describeIt };
}

const questions = () => ec2.commandCalls(GetConsoleOutputCommand).map(({ args: [{ input }] }) => input);

beforeEach(() => ec2.reset());

describe('a gang without reports', () => {
  it('fails with the end of a console', async () => {
    const lines = Array.from({ length: 40 }, (_, line) => `[   ${line}.0] boot line ${line}\r`);
    ec2
      .on(GetConsoleOutputCommand)
      .resolves(base64([...lines, '', '\u001b[31mfatal error: Could not connect\u001b[0m'].join('\n')));
    const { describeIt } = await setUp(900);
    const reason = (await describeIt())?.FailureReason ?? '';
    expect(reason).toContain('no report from i-1, i-2 for 15 minutes since the launch; the console of i-1');
    expect(reason).toMatch(/boot line 39\nfatal error: Could not connect$/);
    expect(reason).not.toContain('boot line 20');
    expect(questions()).toEqual([{ InstanceId: 'i-1', Latest: true }]);
  });

  it('gets the older output on types without Nitro', async () => {
    ec2
      .on(GetConsoleOutputCommand, { Latest: true })
      .rejects(Object.assign(new Error('not Nitro'), { name: 'UnsupportedOperation' }))
      .on(GetConsoleOutputCommand, { Latest: false })
      .resolves(base64('from the boot'));
    const { describeIt } = await setUp(900);
    expect((await describeIt())?.FailureReason).toMatch(/from the boot$/);
  });

  it('fails all the same when EC2 refuses the console', async () => {
    ec2
      .on(GetConsoleOutputCommand)
      .rejects(Object.assign(new Error('no'), { name: 'UnauthorizedOperation' }));
    const { describeIt } = await setUp(900);
    expect((await describeIt())?.FailureReason).toMatch(/unavailable: UnauthorizedOperation: no/);
  });

  it('costs no request while it boots', async () => {
    const { describeIt } = await setUp(600);
    expect((await describeIt())?.TrainingJobStatus).toBe('InProgress');
    expect(questions()).toEqual([]);
  });
});
