import { UnreadableBlobError } from '@tidewheel/packing/store.ts';
import { expect, it } from 'vitest';
import { classify, ofObject } from '../../../../functions/aws/s3/errors.ts';
import { awsErrorClass } from '../../../../functions/records/aws-error-class.ts';

const refusal = (status: number, code: string) =>
  classify({ operation: 'GetObject', key: 'k', status, code });

it.each([
  [403, 'AccessDenied'],
  [403, 'InvalidObjectState'],
  [400, 'KMS.DisabledException'],
  [0, 'ChecksumMismatch'],
])('status %d %s is of the object', (status, code) => {
  const found = ofObject(refusal(status, code));
  expect(found).toBeInstanceOf(UnreadableBlobError);
  expect(found).toMatchObject({ code });
});

it.each([
  [403, 'SignatureDoesNotMatch'],
  [301, 'PermanentRedirect'],
  [503, 'SlowDown'],
  [0, 'ECONNRESET'],
])('status %d %s is of the caller', (status, code) => {
  const error = refusal(status, code);
  expect(ofObject(error)).toBe(error);
});

it.each([
  [0, 'ChecksumMismatch', 'state'],
  [0, 'OtherLength', 'state'],
  [0, 'OtherRange', 'state'],
  [403, 'AccessDenied', 'access'],
])('an object refused with %d %s is %s', (status, code, kind) => {
  expect(awsErrorClass(ofObject(refusal(status, code)))).toBe(kind);
});

it.each([
  [503, 'SlowDown', 'throttle'],
  [0, 'ECONNRESET', 'transient'],
  [409, 'ConditionalRequestConflict', 'transient'],
  [0, 'ChecksumMismatch', 'transient'],
  [400, 'ExpiredToken', 'credentials'],
  [403, 'AccessDenied', 'access'],
  [403, 'HTTP403', 'access'],
  [404, 'NoSuchBucket', 'notFound'],
  [404, 'HTTP404', 'notFound'],
])('status %d %s is of class %s', (status, code, kind) => {
  expect(awsErrorClass(refusal(status, code))).toBe(kind);
});
