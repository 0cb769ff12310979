/** The errors of S3's data path. Their class decides whether the same request is worth another try. */
import { UnreadableBlobError } from '@tidewheel/packing/store.ts';

export interface S3Failure {
  readonly operation: string;
  readonly key: string;
  /** Host and path of the bucket, where the request was sent. */
  readonly at?: string;
  /** 0 when no response came. */
  readonly status: number;
  /** S3's own error code, or the network's. */
  readonly code: string;
  readonly requestId?: string | undefined;
}

const sentence = (failure: S3Failure, advice: string): string =>
  `${failure.operation} of ${JSON.stringify(failure.key)}` +
  (failure.at ? ` at ${failure.at}` : '') +
  ` failed: ${failure.code}` +
  (failure.status > 0 ? ` (HTTP ${failure.status})` : '') +
  (failure.requestId ? `, request ${failure.requestId}` : '') +
  `. ${advice}`;

/** Any refusal or loss that S3's data path reports. */
export class S3Error extends Error {
  override readonly name: string = 'S3Error';
  readonly failure: S3Failure;
  /** As the SDK's errors have them. */
  readonly code: string;
  readonly $metadata: { readonly httpStatusCode: number | undefined };

  constructor(failure: S3Failure, advice: string, options?: ErrorOptions) {
    super(sentence(failure, advice), options);
    this.failure = failure;
    this.code = failure.code;
    this.$metadata = { httpStatusCode: failure.status || undefined };
  }
}

/** S3 asks for a slower pace (503 SlowDown, 429). */
export class S3Throttled extends S3Error {
  override readonly name = 'S3Throttled';
  constructor(failure: S3Failure, options?: ErrorOptions) {
    super(failure, 'S3 is throttling: the step can be run again.', options);
  }
}

/** A failure that may pass: 500, reset, timeout, a truncated or corrupted body. */
class S3Transient extends S3Error {
  override readonly name = 'S3Transient';
  constructor(failure: S3Failure, options?: ErrorOptions) {
    super(failure, 'The step can be run again.', options);
  }
}

/** The clocks differ, or the credentials expired. The next try uses the corrected clock or new credentials. */
export class S3SignatureStale extends S3Error {
  override readonly name = 'S3SignatureStale';
  constructor(failure: S3Failure, options?: ErrorOptions) {
    super(failure, 'Check the clock of this machine and that its credentials are valid.', options);
  }
}

/** S3 refused for good: permission, bucket, malformed request. */
export class S3Refused extends S3Error {
  override readonly name = 'S3Refused';
  constructor(failure: S3Failure, options?: ErrorOptions) {
    super(failure, 'Check the bucket, its policy and the permissions of this role.', options);
  }
}

const THROTTLES = new Set([
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequests',
  'RequestLimitExceeded',
]);
const STALE = new Set([
  'RequestTimeTooSkewed',
  'RequestExpired',
  'ExpiredToken',
  'ExpiredTokenException',
  'TokenRefreshRequired',
]);
/** Codes of status 4xx that may pass with another try. */
const TRANSIENT = new Set([
  'RequestTimeout',
  'BadDigest',
  'InternalError',
  'ConditionalRequestConflict',
  'OperationAborted',
  'XAmzContentChecksumMismatch',
]);

/** Found before the request was sent, or of the object's length, so another try cannot help. */
const PERMANENT = new Set(['BodyTooLong', 'ERR_INVALID_CHAR', 'ERR_UNESCAPED_CHARACTERS']);

/** A server that is not AWS's may lack a request, and lacks it at the next try too. */
const NOT_IMPLEMENTED = 501;

/** One classifier for all of S3's answers. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
export function classify(failure: S3Failure, options?: ErrorOptions): S3Error {
  if (THROTTLES.has(failure.code) || failure.status === 429) return new S3Throttled(failure, options);
  if (failure.status === 503) return new S3Throttled(failure, options);
  if (STALE.has(failure.code)) return new S3SignatureStale(failure, options);
  if (PERMANENT.has(failure.code) || failure.status === NOT_IMPLEMENTED)
    return new S3Refused(failure, options);
  if (failure.status === 0 || failure.status >= 500 || TRANSIENT.has(failure.code))
    return new S3Transient(failure, options);
  return new S3Refused(failure, options);
}

export const isRetryable = (error: unknown): boolean =>
  error instanceof S3Throttled || error instanceof S3Transient || error instanceof S3SignatureStale;

/** Refusals of the caller, its clock or the bucket: no other object would be answered. */
const OF_THE_CALLER = new Set([
  'InvalidAccessKeyId',
  'InvalidToken',
  'SignatureDoesNotMatch',
  'AuthorizationHeaderMalformed',
  'AccountProblem',
  'NotSignedUp',
  'AllAccessDisabled',
]);
/** Damage that ten answers had, so it is the object's. */
const LASTING_DAMAGE = new Set(['ChecksumMismatch', 'OtherLength', 'OtherRange']);

/**
 * The same error, or UnreadableBlobError if it concerns the object that was read: no permission (403), a key of KMS that
 * is disabled or may not be used, an archive, a customer's own key (400).
 */
export function ofObject(error: unknown): unknown {
  if (error instanceof S3Transient && LASTING_DAMAGE.has(error.failure.code))
    return new UnreadableBlobError(error.failure.code, error);
  if (!(error instanceof S3Refused)) return error;
  const { status, code } = error.failure;
  const isOfObject = (status === 403 || status === 400) && !OF_THE_CALLER.has(code);
  return isOfObject ? new UnreadableBlobError(code, error) : error;
}
