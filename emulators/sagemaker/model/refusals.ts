/**
 * What the API answers when it refuses. `name` is the error's name on the wire.
 * Names and texts are those seen from SageMaker; where no text is known the message says what to change.
 */
import { messageOf } from '@tidewheel/kit/errors.ts';
export class RequestRefused extends Error {
  readonly statusCode: number;

  constructor(name: string, message: string, statusCode = 400) {
    super(message);
    this.name = name;
    this.statusCode = statusCode;
  }
}

export const validationException = (message: string): RequestRefused =>
  new RequestRefused('ValidationException', message);

/**
 * SageMaker's model names ResourceNotFound here, but the service answers so:
 * https://github.com/boto/boto3/issues/2808
 */
export const jobNotFound = (): RequestRefused => validationException('Requested resource not found.');

export const resourceInUse = (arn: string): RequestRefused =>
  new RequestRefused(
    'ResourceInUse',
    `Training job names must be unique within an AWS account and region, and a training job with this name already exists (${arn})`,
  );

interface QuotaUse {
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
  readonly unit: 'Instances' | 'Seconds';
}

export const quotaExceeded = (quota: string, { limit, used, requested, unit }: QuotaUse): RequestRefused =>
  new RequestRefused(
    'ResourceLimitExceeded',
    `The account-level service limit '${quota}' is ${limit} ${unit}, with current utilization of ${used} ${unit} and a request delta of ${requested} ${unit}. Please use AWS Service Quotas to request an increase for this quota.`,
  );

export const throttled = (): RequestRefused => new RequestRefused('ThrottlingException', 'Rate exceeded');

/** A job that ends as Failed; the message becomes its FailureReason. */
export class JobFailure extends Error {
  constructor(
    kind: 'ClientError' | 'AlgorithmError' | 'CapacityError' | 'InternalServerError',
    text: string,
    cause?: unknown,
  ) {
    super(`${kind}: ${text}`.slice(0, 1024), { cause });
    this.name = 'JobFailure';
  }
}

/** How SageMaker words an InternalServerError. */
export const TRY_AGAIN = 'We encountered an internal error. Please try again.';

/** The machine's own troubles: no answer from S3, a full disk. */
const OUTAGES: readonly unknown[] = [
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'EROFS',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
];

/** Nothing that the caller could correct. */
function isOutage(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return (
    ('$fault' in thrown && thrown.$fault === 'server') ||
    ('code' in thrown && OUTAGES.includes(thrown.code)) ||
    thrown.name === 'TimeoutError'
  );
}

/** What the transfer of data makes of a job: the caller's fault, unless the machine or S3 is to blame. */
export function transferFailure(what: string, thrown: unknown): JobFailure {
  if (thrown instanceof JobFailure) return thrown;
  return isOutage(thrown)
    ? new JobFailure('InternalServerError', `${TRY_AGAIN} (${what}: ${messageOf(thrown)})`, thrown)
    : new JobFailure('ClientError', `${what}: ${messageOf(thrown)}`, thrown);
}
