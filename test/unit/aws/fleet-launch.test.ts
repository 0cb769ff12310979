/** EC2 sees what was created a moment ago only later, and answers a repeated token as it did the first time. */
import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  DeleteLaunchTemplateCommand,
  DescribeInstancesCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import { planOf } from '../../support/builders/fleet.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';

const ec2 = mockClient(EC2Client);
const plan = planOf({ nodes: 2 });
const whole = { FleetId: 'fleet-1', Instances: [{ InstanceIds: ['i-1', 'i-2'] }] };
const refused = (ErrorCode: string) => ({ FleetId: 'fleet-0', Instances: [], Errors: [{ ErrorCode }] });
const named = (name: string) => Object.assign(new Error('EC2 said so'), { name });

function service() {
  const clock = fakeClock();
  return makeFleetService({ ec2: new EC2Client({}), store: memoryObjectStore(clock, 'tw-data'), clock });
}
const tokens = () => ec2.commandCalls(CreateFleetCommand).map(({ args: [{ input }] }) => input.ClientToken);

beforeEach(() => {
  ec2.reset();
  ec2.on(DescribeInstancesCommand).resolves({ Reservations: [] });
});

describe('a fleet that EC2 refused', () => {
  it('is requested again with another token', async () => {
    ec2
      .on(CreateFleetCommand)
      .resolvesOnce(refused('InvalidParameterValue'))
      .resolvesOnce(refused('RequestLimitExceeded'))
      .resolves(whole);
    const fleets = service();
    expect((await fleets.launch(plan)).kind).toBe('invalid');
    expect((await fleets.launch(plan)).kind).toBe('throttled');
    expect(await fleets.launch(plan)).toEqual({ kind: 'created', arn: 'fleet-1' });
    expect(tokens()).toEqual([plan.name, `${plan.name}-t2`, `${plan.name}-t3`]);
  });

  it('keeps its template for the next try', async () => {
    ec2.on(CreateFleetCommand).resolves(refused('InvalidParameterValue'));
    await service().launch(plan);
    expect(ec2.commandCalls(DeleteLaunchTemplateCommand)).toEqual([]);
  });

  it('keeps its token when no answer came', async () => {
    ec2.on(CreateFleetCommand).rejectsOnce(named('TimeoutError')).resolves(whole);
    const fleets = service();
    expect((await fleets.launch(plan)).kind).toBe('throttled');
    expect((await fleets.launch(plan)).kind).toBe('created');
    expect(tokens()).toEqual([plan.name, plan.name]);
  });
});

describe('a template that EC2 does not see yet', () => {
  it.each([
    'InvalidLaunchTemplateId.NotFound',
    'InvalidLaunchTemplateId.VersionNotFound',
    'InvalidLaunchTemplateName.NotFoundException',
    'InvalidPlacementGroup.Unknown',
  ])('is worth another try: %s', async (code) => {
    ec2.on(CreateFleetCommand).rejectsOnce(named(code)).resolvesOnce(refused(code)).resolves(whole);
    const fleets = service();
    expect((await fleets.launch(plan)).kind).toBe('throttled');
    expect((await fleets.launch(plan)).kind).toBe('throttled');
    expect((await fleets.launch(plan)).kind).toBe('created');
  });

  it('is no excuse for a subnet that is gone', async () => {
    ec2.on(CreateFleetCommand).rejects(named('InvalidSubnetID.NotFound'));
    expect((await service().launch(plan)).kind).toBe('invalid');
    expect(ec2.commandCalls(CreateLaunchTemplateCommand)).toHaveLength(1);
  });
});
