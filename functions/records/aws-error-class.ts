/**
 * What kind of trouble an error from AWS is: the one place that knows error names. Works on names, status codes and
 * network codes, never on message texts (which AWS changes), and looks through wrappers by following `cause`.
 */

export type AwsErrorClass =
  /** Too many calls: try again later, slower. */
  | 'throttle'
  /** Network fault, timeout, 5xx: try again. */
  | 'transient'
  /** A limit of the account: waiting does not help, another instance type or a quota request may. */
  | 'quota'
  /** AWS has no such machine now. */
  | 'capacity'
  | 'access'
  /** The credentials have run out or are wrong; new ones may work. */
  | 'credentials'
  | 'notFound'
  /** The name is taken or another writer was faster. */
  | 'conflict'
  | 'validation'
  | 'unknown';

type Known = Exclude<AwsErrorClass, 'unknown'>;

const NAMES: readonly (readonly [Known, readonly string[]])[] = [
  [
    'throttle',
    [
      'BandwidthLimitExceeded',
      'LimitExceededException',
      // A new account, or one that is new in a region: minutes, at most some hours.
      'PendingVerification',
      'PriorRequestNotComplete',
      'ProvisionedThroughputExceededException',
      'RequestLimitExceeded',
      'SlowDown',
      'TooManyRequestsException',
      'TransactionConflictException',
      'TransactionInProgressException',
    ],
  ],
  ['transient', ['AbortError', 'NetworkingError', 'ServerInternal', 'TimeoutError']],
  // The account has no role for Spot yet, and the caller may not create it: Spot is closed, On-Demand is not.
  ['quota', ['AuthFailure.ServiceLinkedRoleCreationNotPermitted']],
  [
    'capacity',
    ['CapacityError', 'SpotMaxPriceTooLow', 'UnfulfillableCapacity', 'VolumeTypeNotAvailableInZone'],
  ],
  ['access', ['Blocked', 'Forbidden', 'OptInRequired', 'UnauthorizedOperation']],
  [
    'credentials',
    [
      'AuthFailure',
      'CredentialsProviderError',
      'IncompleteSignature',
      'InvalidClientTokenId',
      'InvalidSignatureException',
      'RequestExpired',
      'SignatureDoesNotMatch',
      'TokenProviderError',
      'UnrecognizedClientException',
    ],
  ],
  ['notFound', ['NoSuchBucket', 'NoSuchKey']],
  [
    'conflict',
    [
      'ConditionalCheckFailedException',
      'ConditionalRequestConflict',
      'ConflictException',
      'IdempotentParameterMismatch',
      'PreconditionFailed',
    ],
  ],
  [
    'validation',
    ['InvalidBlockDeviceMapping', 'InvalidRequest', 'MissingParameter', 'SerializationException'],
  ],
];

/**
 * Most names begin or end with what they mean. EC2 alone has some 400.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
 */
const FORMS: readonly (readonly [RegExp, Known])[] = [
  [/(?:^|\.|Resource)NotFound(?:Exception)?$/, 'notFound'],
  [/(?:\.Duplicate|InUse|AlreadyExists)(?:Exception)?$/, 'conflict'],
  [/^Invalid[A-Z]\w*\.\w+$|^InvalidParameter|^Validation(?:Error|Exception)$/, 'validation'],
  [/Throttl(?:ed|ing)(?:Exception)?$/, 'throttle'],
  [
    /^(?:Internal(?:Error|Failure|Serv\w+)|RequestTimeout|(?:Service)?Unavailable)(?:Exception)?$/,
    'transient',
  ],
  [/(?:Limit|Quota|Count)Exceeded(?:Exception)?$/, 'quota'],
  [/^Insufficient\w*(?:Capacity|Addresses)|CapacityExceeded(?:Exception)?$/, 'capacity'],
  [/^AccessDenied(?:Exception)?$/, 'access'],
  [/^ExpiredToken(?:Exception)?$/, 'credentials'],
];

/** In front of codes where requests and instances have the same. `Client.InternalError` is an error of its own. */
const SIDE = /^(?:Server\.|Client\.(?!InternalError$))/;

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

const BY_NAME: ReadonlyMap<string, Known> = new Map(
  NAMES.flatMap(([kind, names]) => names.map((name) => [name, kind] as const)),
);

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
    const name = given.replace(SIDE, '');
    const known = BY_NAME.get(name) ?? FORMS.find(([form]) => form.test(name))?.[1];
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
