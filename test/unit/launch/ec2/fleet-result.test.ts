import { describe, expect, it } from 'vitest';
import { createFleetResult } from '../../../../functions/core/launch/ec2/fleet-result.ts';

const errors = (...codes: string[]) => ({
  FleetId: 'fleet-1',
  Instances: [],
  Errors: codes.map((ErrorCode) => ({ ErrorCode, ErrorMessage: 'why' })),
});

describe('createFleetResult', () => {
  it('takes a whole gang for created', () => {
    const answer = { FleetId: 'fleet-1', Instances: [{ InstanceIds: ['i-1', 'i-2'] }] };
    expect(createFleetResult(answer, 2)).toEqual({
      outcome: { kind: 'created', arn: 'fleet-1' },
      incompleteGang: [],
    });
  });

  it('gives up a gang that is not whole', () => {
    const answer = { FleetId: 'fleet-1', Instances: [{ InstanceIds: ['i-1'] }] };
    expect(createFleetResult(answer, 2)).toMatchObject({
      outcome: { kind: 'capacity' },
      incompleteGang: ['i-1'],
    });
  });

  it.each([
    [['InsufficientInstanceCapacity'], 'capacity'],
    [['UnfulfillableCapacity'], 'capacity'],
    [['Unsupported'], 'capacity'],
    [['MaxSpotInstanceCountExceeded'], 'quota'],
    [['VcpuLimitExceeded'], 'quota'],
    [['RequestLimitExceeded'], 'throttled'],
    [['UnauthorizedOperation'], 'denied'],
    [['InvalidParameterValue'], 'invalid'],
    [['SomethingNew'], 'invalid'],
    [['InvalidParameterValue', 'InsufficientInstanceCapacity'], 'capacity'],
    [[], 'capacity'],
  ])('takes no instance and %j for %s', (codes, kind) => {
    expect(createFleetResult(errors(...codes), 2).outcome.kind).toBe(kind);
  });

  it('names the remedy where the Spot role is missing', () => {
    const { outcome } = createFleetResult(errors('AuthFailure.ServiceLinkedRoleCreationNotPermitted'), 2);
    expect(outcome).toMatchObject({
      kind: 'quota',
      message: expect.stringContaining(
        'aws iam create-service-linked-role --aws-service-name spot.amazonaws.com',
      ),
    });
  });

  it('says each reason once', () => {
    expect(
      createFleetResult(errors('UnfulfillableCapacity', 'UnfulfillableCapacity'), 2).outcome,
    ).toMatchObject({
      message: 'UnfulfillableCapacity: why',
    });
  });
});
