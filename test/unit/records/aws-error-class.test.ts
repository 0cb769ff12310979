import { describe, expect, it } from 'vitest';
import { awsErrorClass, isRetryableAwsError } from '../../../functions/records/aws-error-class.ts';

const named = (name: string, extra: object = {}): Error =>
  Object.assign(new Error('a message that must not matter'), { name }, extra);
const status = (httpStatusCode: number): Error =>
  named('WhateverException', { $metadata: { httpStatusCode } });

describe('awsErrorClass', () => {
  it.each([
    ['ThrottlingException', 'throttle'],
    ['RequestLimitExceeded', 'throttle'],
    ['SlowDown', 'throttle'],
    ['TimeoutError', 'transient'],
    ['InternalServerException', 'transient'],
    ['ResourceLimitExceeded', 'quota'],
    ['MaxSpotInstanceCountExceeded', 'quota'],
    ['VcpuLimitExceeded', 'quota'],
    ['InsufficientInstanceCapacity', 'capacity'],
    ['UnfulfillableCapacity', 'capacity'],
    ['AccessDeniedException', 'access'],
    ['UnauthorizedOperation', 'access'],
    ['ExpiredTokenException', 'credentials'],
    ['CredentialsProviderError', 'credentials'],
    ['ResourceNotFound', 'notFound'],
    ['InvalidSubnetID.NotFound', 'notFound'],
    ['InvalidLaunchTemplateId.NotFoundException', 'notFound'],
    ['InvalidLaunchTemplateName.AlreadyExistsException', 'conflict'],
    ['ResourceInUse', 'conflict'],
    ['InvalidGroup.Duplicate', 'conflict'],
    ['ConditionalCheckFailedException', 'conflict'],
    ['ValidationException', 'validation'],
    ['InvalidAMIID.Malformed', 'validation'],
    ['InvalidAMIID.Unavailable', 'validation'],
    ['InvalidBlockDeviceMapping', 'validation'],
    ['PendingVerification', 'throttle'],
    ['Blocked', 'access'],
    ['VolumeLimitExceeded', 'quota'],
    ['MaxIOPSLimitExceeded', 'quota'],
    ['NetworkInterfaceLimitExceeded', 'quota'],
    ['PlacementGroupLimitExceeded', 'quota'],
    ['PrivateIpAddressLimitExceeded', 'quota'],
    ['ResourceCountExceeded', 'quota'],
    ['RequestResourceCountExceeded', 'quota'],
    ['MaxFleetCountExceeded', 'quota'],
    ['FleetQuotaExceeded', 'quota'],
    ['ServiceQuotaExceededException', 'quota'],
    ['TargetCapacityLimitExceededException', 'quota'],
    ['InsufficientAddressCapacity', 'capacity'],
    ['InsufficientFreeAddressesInSubnet', 'capacity'],
    ['InsufficientReservedInstancesCapacity', 'capacity'],
    ['InsufficientVolumeCapacity', 'capacity'],
    ['InsufficientCapacityException', 'capacity'],
    ['Server.InsufficientInstanceCapacity', 'capacity'],
    ['ReservationCapacityExceeded', 'capacity'],
    ['SpotMaxPriceTooLow', 'capacity'],
    ['Server.InternalError', 'transient'],
    ['Client.VolumeLimitExceeded', 'quota'],
    ['Client.InternalError', 'unknown'],
    ['LimitExceededException', 'throttle'],
    ['BandwidthLimitExceeded', 'throttle'],
    ['NeverHeardOfIt', 'unknown'],
  ])('takes %s for %s', (name, kind) => {
    expect(awsErrorClass(named(name))).toBe(kind);
  });

  it.each([
    [429, 'throttle'],
    [500, 'transient'],
    [503, 'transient'],
    [403, 'access'],
    [404, 'notFound'],
    [400, 'unknown'],
  ])('takes an unknown name with status %i for %s', (code, kind) => {
    expect(awsErrorClass(status(code))).toBe(kind);
  });

  it.each(['ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_SOCKET'])(
    'takes the network code %s for transient',
    (code) => {
      expect(awsErrorClass(named('Error', { code }))).toBe('transient');
    },
  );

  it('trusts the name before the status', () => {
    expect(awsErrorClass(named('ResourceNotFound', { $metadata: { httpStatusCode: 500 } }))).toBe('notFound');
  });

  it('follows the cause', () => {
    const wrapped = new Error('outer', {
      cause: new Error('middle', { cause: named('ThrottlingException') }),
    });
    expect(awsErrorClass(wrapped)).toBe('throttle');
  });

  it('looks into an AggregateError', () => {
    expect(
      awsErrorClass(new AggregateError([new Error('x'), named('Error', { code: 'ECONNREFUSED' })])),
    ).toBe('transient');
  });

  it('treats an unnamed server fault as transient', () => {
    expect(awsErrorClass(named('Odd', { $fault: 'server' }))).toBe('transient');
  });

  it('survives a cause that is its own cause', () => {
    const loop = new Error('loop');
    loop.cause = loop;
    expect(awsErrorClass(loop)).toBe('unknown');
  });

  it.each([undefined, null, 'ThrottlingException', 42, Symbol('x'), {}])('knows nothing of %s', (value) => {
    expect(awsErrorClass(value)).toBe('unknown');
  });
});

describe('isRetryableAwsError', () => {
  it.each([
    ['ThrottlingException', true],
    ['ServiceUnavailable', true],
    ['ExpiredToken', true],
    ['ValidationException', false],
    ['ResourceLimitExceeded', false],
    ['AccessDenied', false],
    ['NeverHeardOfIt', false],
  ])('says of %s: %s', (name, expected) => {
    expect(isRetryableAwsError(named(name))).toBe(expected);
  });
});
