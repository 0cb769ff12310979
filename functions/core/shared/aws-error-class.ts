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

const NAMES: Readonly<Record<Exclude<AwsErrorClass, 'unknown'>, readonly string[]>> = {
  throttle: [
    'BandwidthLimitExceeded',
    'EC2ThrottledException',
    'LimitExceededException',
    'PriorRequestNotComplete',
    'ProvisionedThroughputExceededException',
    'RequestLimitExceeded',
    'RequestThrottled',
    'RequestThrottledException',
    'SlowDown',
    'ThrottledException',
    'Throttling',
    'ThrottlingException',
    'TooManyRequestsException',
    'TransactionConflictException',
    'TransactionInProgressException',
  ],
  transient: [
    'AbortError',
    'InternalError',
    'InternalFailure',
    'InternalServerError',
    'InternalServerException',
    'InternalServiceException',
    'NetworkingError',
    'RequestTimeout',
    'RequestTimeoutException',
    'ServerInternal',
    'ServiceUnavailable',
    'ServiceUnavailableException',
    'TimeoutError',
    'Unavailable',
  ],
  quota: [
    // The account has no role for Spot yet, and the caller may not create it: Spot is closed, On-Demand is not.
    'AuthFailure.ServiceLinkedRoleCreationNotPermitted',
    'FleetQuotaExceeded',
    'InstanceLimitExceeded',
    'MaxFleetCountExceeded',
    'MaxSpotInstanceCountExceeded',
    'ResourceLimitExceeded',
    'ServiceQuotaExceededException',
    'VcpuLimitExceeded',
  ],
  capacity: [
    'CapacityError',
    'InsufficientCapacity',
    'InsufficientCapacityOnHost',
    'InsufficientFreeAddressesInSubnet',
    'InsufficientHostCapacity',
    'InsufficientInstanceCapacity',
    'InsufficientReservedInstanceCapacity',
    'UnfulfillableCapacity',
  ],
  access: ['AccessDenied', 'AccessDeniedException', 'Forbidden', 'OptInRequired', 'UnauthorizedOperation'],
  credentials: [
    'AuthFailure',
    'CredentialsProviderError',
    'ExpiredToken',
    'ExpiredTokenException',
    'IncompleteSignature',
    'InvalidClientTokenId',
    'InvalidSignatureException',
    'RequestExpired',
    'SignatureDoesNotMatch',
    'TokenProviderError',
    'UnrecognizedClientException',
  ],
  notFound: [
    'NoSuchBucket',
    'NoSuchKey',
    'NotFound',
    'NotFoundException',
    'ResourceNotFound',
    'ResourceNotFoundException',
  ],
  conflict: [
    'ConditionalCheckFailedException',
    'ConditionalRequestConflict',
    'ConflictException',
    'ExecutionAlreadyExists',
    'IdempotentParameterMismatch',
    'PreconditionFailed',
    'ResourceInUse',
    'ResourceInUseException',
  ],
  validation: [
    'InvalidParameter',
    'InvalidParameterCombination',
    'InvalidParameterException',
    'InvalidParameterValue',
    'InvalidRequest',
    'MissingParameter',
    'SerializationException',
    'ValidationError',
    'ValidationException',
  ],
};

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

const KINDS = [
  'throttle',
  'transient',
  'quota',
  'capacity',
  'access',
  'credentials',
  'notFound',
  'conflict',
  'validation',
] as const;

const BY_NAME: ReadonlyMap<string, AwsErrorClass> = new Map(
  KINDS.flatMap((kind) => NAMES[kind].map((name): [string, AwsErrorClass] => [name, kind])),
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

/** Error names of EC2 end in what they mean: InvalidSubnetID.NotFound, InvalidGroup.Duplicate. */
function byName(error: object): AwsErrorClass | undefined {
  for (const name of [field(error, 'name'), field(error, 'Code'), field(error, 'code')]) {
    if (typeof name !== 'string') continue;
    const known = BY_NAME.get(name);
    if (known !== undefined) return known;
    if (/\.NotFound(Exception)?$/.test(name)) return 'notFound';
    if (/\.(Duplicate|InUse|AlreadyExistsException)$/.test(name)) return 'conflict';
    if (/^Invalid[A-Z][A-Za-z]*\.(Malformed|Unsupported|Range)$/.test(name)) return 'validation';
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
