/** What to change in the region, endpoint or credentials of a command whose call did not arrive. */
import { messageOf } from '@tidewheel/kit/errors.ts';
import { S3Error } from '../../functions/aws/s3/errors.ts';
import { awsErrorClass } from '../../functions/records/aws-error-class.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @returns what to change so that a call which failed in this way arrives; undefined where something else failed */
export function networkRemedy(error: unknown, environment: Environment): string | undefined {
  const code = networkCode(error);
  if (code !== undefined) return unreachable(code, environment);
  if (awsErrorClass(error) !== 'credentials' && !REFUSALS.includes(codeOf(error) ?? '')) return undefined;
  const why = messageOf(error);
  return error instanceof Error && error.name === 'CredentialsProviderError'
    ? withoutCredentials(why, environment)
    : refused(why, environment);
}

const withoutCredentials = (why: string, { AWS_PROFILE: profile }: Environment): string =>
  profile
    ? `AWS_PROFILE is "${profile}", which gives no credentials (${why}): name a profile of ~/.aws/config, or sign in (aws sso login --profile ${profile})`
    : 'no AWS credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';

function refused(
  why: string,
  { AWS_PROFILE: profile = 'default', AWS_ACCESS_KEY_ID: key, AWS_ENDPOINT_URL: endpoint }: Environment,
): string {
  const named = key ? `AWS_ACCESS_KEY_ID is "${key}"` : `AWS_PROFILE is "${profile}"`;
  const renewed =
    endpoint === undefined
      ? 'set credentials that hold, or sign in again (aws sso login)'
      : 'paste the line "for a shell" of its npm start again';
  return `${named}: ${endpoint ?? 'AWS'} refuses these credentials (${why}): ${renewed}`;
}

function unreachable(code: string, { AWS_ENDPOINT_URL: endpoint, AWS_REGION: region }: Environment): string {
  const named = region ? `AWS_REGION is "${region}"` : 'the region is that of ~/.aws/config';
  return endpoint === undefined
    ? `${named}: its endpoints cannot be reached (${code}): check the region's name, the network and HTTPS_PROXY`
    : `AWS_ENDPOINT_URL is "${endpoint}", where nothing answers (${code}): run npm start and paste its line "for a shell", or unset AWS_ENDPOINT_URL for AWS`;
}

const UNREACHABLE = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'];
/** A chain of causes longer than this is a loop. */
const MAXIMUM_DEPTH = 8;

/** What S3 calls credentials that it refuses. */
const REFUSALS = ['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken'];

function codeOf(error: unknown): string | undefined {
  if (error instanceof S3Error) return error.failure.code;
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}

function networkCode(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > MAXIMUM_DEPTH) return undefined;
  const code = codeOf(error);
  return code !== undefined && UNREACHABLE.includes(code) ? code : networkCode(error.cause, depth + 1);
}
