import { describe, expect, it } from 'vitest';
import { createFleetResult } from '../../../../functions/launch/ec2/fleet-result.ts';

const errors = (...codes: string[]) => ({
  FleetId: 'fleet-1',
  Instances: [],
  Errors: codes.map((ErrorCode) => ({ ErrorCode, ErrorMessage: 'why' })),
});

const GANG = { instanceType: 'g5.xlarge', purchaseOption: 'spot', hosts: 2 } as const;

describe('createFleetResult', () => {
  it('takes a whole gang for created', () => {
    const answer = { FleetId: 'fleet-1', Instances: [{ InstanceIds: ['i-1', 'i-2'] }] };
    expect(createFleetResult(answer, GANG)).toEqual({
      outcome: { kind: 'created', arn: 'fleet-1' },
      incompleteGang: [],
    });
  });

  it('gives up a gang that is not whole', () => {
    const answer = { FleetId: 'fleet-1', Instances: [{ InstanceIds: ['i-1'] }] };
    expect(createFleetResult(answer, GANG)).toMatchObject({
      outcome: { kind: 'capacity' },
      incompleteGang: ['i-1'],
    });
  });

  it.each([
    [['InsufficientInstanceCapacity'], 'capacity'],
    [['Unsupported'], 'capacity'],
    [['UnsupportedOperation'], 'unknown'],
    [['MaxSpotInstanceCountExceeded'], 'quota'],
    [['RequestLimitExceeded'], 'throttled'],
    [['UnauthorizedOperation'], 'denied'],
    [['InvalidParameterValue'], 'invalid'],
    [['SomethingNew'], 'unknown'],
    [['SomethingNew', 'InvalidParameterValue'], 'unknown'],
    [['SomethingNew', 'VolumeLimitExceeded'], 'quota'],
    [['IdempotentParameterMismatch'], 'unknown'],
    [['Client.InternalError'], 'unknown'],
    [['InvalidLaunchTemplateName.NotFoundException'], 'throttled'],
    [['InvalidParameterValue', 'InsufficientInstanceCapacity'], 'capacity'],
    [[], 'capacity'],
  ])('takes no instance and %j for %s', (codes, kind) => {
    expect(createFleetResult(errors(...codes), GANG).outcome.kind).toBe(kind);
  });

  it('names the remedy where the Spot role is missing', () => {
    const { outcome } = createFleetResult(errors('AuthFailure.ServiceLinkedRoleCreationNotPermitted'), GANG);
    expect(outcome).toMatchObject({
      kind: 'quota',
      message: expect.stringContaining(
        'aws iam create-service-linked-role --aws-service-name spot.amazonaws.com',
      ),
    });
  });

  it.each([
    ['MaxSpotInstanceCountExceeded', 'spot', 'All G and VT Spot Instance Requests', 'L-3819A6DF'],
    ['VcpuLimitExceeded', 'on-demand', 'Running On-Demand G and VT instances', 'L-DB2E81BA'],
  ] as const)('names the quota behind %s', (code, purchaseOption, name, quota) => {
    const { outcome } = createFleetResult(errors(code), { ...GANG, purchaseOption });
    expect(outcome).toMatchObject({ kind: 'quota', message: expect.stringContaining(`"${name}"`) });
    expect(outcome).toMatchObject({ message: expect.stringContaining(`--quota-code ${quota}`) });
  });

  it('names the quota of the type that was refused', () => {
    const LaunchTemplateAndOverrides = { Overrides: { InstanceType: 'p4d.24xlarge' } };
    const answer = { Errors: [{ ErrorCode: 'MaxSpotInstanceCountExceeded', LaunchTemplateAndOverrides }] };
    expect(createFleetResult(answer, GANG).outcome).toMatchObject({
      message: expect.stringContaining('"All P4, P3 and P2 Spot Instance Requests"'),
    });
  });

  it.each([
    ['VolumeLimitExceeded', 'quota', 'higher quota of EBS storage'],
    ['InsufficientFreeAddressesInSubnet', 'capacity', 'compute.vpc'],
    ['PendingVerification', 'throttled', 'at most four hours'],
    ['InvalidAMIID.NotFound', 'invalid', 'compute.ec2.image'],
    ['InvalidSubnetID.NotFound', 'invalid', 'compute.vpc'],
  ])('names the remedy of %s', (code, kind, remedy) => {
    expect(createFleetResult(errors(code), GANG).outcome).toMatchObject({
      kind,
      message: expect.stringContaining(remedy),
    });
  });

  it('ends the attempt whose hosts came and went', () => {
    const answer = { ...errors('RequestLimitExceeded'), Instances: [{ InstanceIds: ['i-1'] }] };
    expect(createFleetResult(answer, GANG)).toMatchObject({
      outcome: { kind: 'capacity' },
      incompleteGang: ['i-1'],
    });
  });

  it('says each reason once', () => {
    expect(
      createFleetResult(errors('UnfulfillableCapacity', 'UnfulfillableCapacity'), GANG).outcome,
    ).toMatchObject({
      message: 'UnfulfillableCapacity: why',
    });
  });
});
