/**
 * What kind of trouble an error from AWS is, by the names of `aws-error-table.ts`. Works on names, status codes and
 * network codes, never on message texts (which AWS changes), and looks through wrappers by following `cause`.
 */
import { type AwsErrorClass, errorRule } from './aws-error-table.ts';

export type { AwsErrorClass } from './aws-error-table.ts';

/** Node's and undici's codes of a connection that failed on the way. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** A chain of causes longer than this is a loop. */
const MAXIMUM_DEPTH = 8;

export function awsErrorClass(error: unknown, depth = 0): AwsErrorClass {
  if (typeof error !== 'object' || error === null || depth > MAXIMUM_DEPTH) return 'unknown';
  const own = byName(error) ?? byNetworkCode(error) ?? byStatus(error);
  if (own !== undefined) return own;
  for (const inner of innerErrors(error)) {
    const found = awsErrorClass(inner, depth + 1);
    if (found !== 'unknown') return found;
  }
  return byFault(error);
}

/** Whether the same call may succeed later without anything being changed. */
export const isRetryableAwsError = (error: unknown): boolean => {
  const kind = awsErrorClass(error);
  return kind === 'throttle' || kind === 'transient' || kind === 'credentials';
};

function byName(error: object): AwsErrorClass | undefined {
  for (const given of [field(error, 'name'), field(error, 'Code'), field(error, 'code')]) {
    if (typeof given !== 'string') continue;
    const known = errorRule(given)?.kind;
    if (known !== undefined) return known;
  }
  return undefined;
}

function byNetworkCode(error: object): AwsErrorClass | undefined {
  const code = field(error, 'code');
  return typeof code === 'string' && NETWORK_CODES.has(code) ? 'transient' : undefined;
}

function byStatus(error: object): AwsErrorClass | undefined {
  const metadata = field(error, '$metadata');
  const status =
    typeof metadata === 'object' && metadata !== null ? field(metadata, 'httpStatusCode') : undefined;
  if (typeof status !== 'number') return undefined;
  if (status === 429) return 'throttle';
  if (status >= 500) return 'transient';
  if (status === 403) return 'access';
  return status === 404 ? 'notFound' : undefined;
}

const byFault = (error: object): AwsErrorClass =>
  field(error, '$fault') === 'server' ? 'transient' : 'unknown';

function innerErrors(error: object): unknown[] {
  const several = field(error, 'errors');
  return [field(error, 'cause'), ...(Array.isArray(several) ? (several as unknown[]) : [])];
}

const field = (value: object, name: string): unknown => Reflect.get(value, name);
