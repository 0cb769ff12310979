import { describe, expect, it } from 'vitest';
import { awsErrorClass, isRetryableAwsError } from '../../../functions/records/aws-error-class.ts';
import { EC2_ERROR_CODES } from './ec2-error-codes.ts';

const named = (name: string, extra: object = {}): Error =>
  Object.assign(new Error('a message that must not matter'), { name }, extra);
const status = (httpStatusCode: number): Error =>
  named('WhateverException', { $metadata: { httpStatusCode } });

describe('awsErrorClass', () => {
  it.each([
    ['ThrottlingException', 'throttle'],
    ['SlowDown', 'throttle'],
    ['LimitExceededException', 'throttle'],
    ['TimeoutError', 'transient'],
    ['InternalServerException', 'transient'],
    ['FleetQuotaExceeded', 'quota'],
    ['MaxFleetCountExceeded', 'quota'],
    ['ServiceQuotaExceededException', 'quota'],
    ['InsufficientCapacityException', 'capacity'],
    ['Server.InsufficientInstanceCapacity', 'capacity'],
    ['InvalidFleetConfiguration', 'capacity'],
    ['AccessDeniedException', 'access'],
    ['NotAuthorized', 'access'],
    ['ExpiredTokenException', 'credentials'],
    ['CredentialsProviderError', 'credentials'],
    ['ResourceNotFound', 'notFound'],
    ['NoSuchEntityException', 'notFound'],
    ['ResourceInUse', 'conflict'],
    ['EntityAlreadyExistsException', 'conflict'],
    ['ConditionalCheckFailedException', 'conflict'],
    ['ValidationException', 'validation'],
    ['MalformedHttpRequestException', 'validation'],
    ['Server.InternalError', 'transient'],
    ['Client.VolumeLimitExceeded', 'quota'],
    ['Client.InternalError', 'state'],
    ['Client.InvalidKMSKey.InvalidState', 'validation'],
    ['NeverHeardOfIt', 'unknown'],
    ['UnknownError', 'unknown'],
  ])('takes %s for %s', (name, kind) => {
    expect(awsErrorClass(named(name))).toBe(kind);
  });

  it("classes every error of EC2's page", () => {
    const codes = EC2_ERROR_CODES.map(([code]) => code);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes.length).toBeGreaterThan(400);
    expect(codes.map((code) => [code, awsErrorClass(named(code))])).toEqual(EC2_ERROR_CODES);
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
