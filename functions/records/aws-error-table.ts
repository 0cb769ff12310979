/**
 * The errors of AWS by their names: what kind of trouble each is, and what a person can do. Data alone;
 * `aws-error-class.ts` reads it.
 *
 * Sources, read on 2026-11-29:
 * page: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (a test holds its whole list)
 * ends: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html, and "Instance terminates
 * immediately" in EC2's user guide
 * common: the page "Common Error Types" of each service's API reference
 * models: the error shapes of botocore 1.43.106 (SageMaker, IAM, DynamoDB, Lambda, Step Functions)
 * sdk: the names of the AWS SDK for JavaScript, of Node and of S3's data path (`aws/s3/errors.ts`)
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
  /** This type, zone or image cannot do it; another may. */
  | 'unsupported'
  | 'access'
  /** The credentials have run out or are wrong; new ones may work. */
  | 'credentials'
  | 'notFound'
  /** The name is taken or another writer was faster. */
  | 'conflict'
  /** The resource is in a state that does not allow it. */
  | 'state'
  | 'validation'
  | 'unknown';

type KnownErrorClass = Exclude<AwsErrorClass, 'unknown'>;

interface ErrorRule {
  readonly kind: KnownErrorClass;
  /** Exact names; before any form. */
  readonly names?: readonly string[];
  /** Most names begin or end with what they mean. */
  readonly form?: RegExp;
  /** Completes "remedy: ...". */
  readonly remedy?: string;
  readonly source: 'page' | 'ends' | 'common' | 'models' | 'sdk';
}

const SUBNETS = 'name subnets and security groups of this account and region in compute.vpc';
const KEY =
  'the key that encrypts EBS volumes by default must be enabled, and its policy must let the service’s role create grants (kms:CreateGrant)';

/** Exact names. */
const NAMES: readonly ErrorRule[] = [
  {
    kind: 'throttle',
    names: ['PendingVerification'],
    remedy:
      'AWS verifies a new account or region, which takes minutes, at most four hours; then ask AWS Support',
    source: 'page',
  },
  {
    kind: 'throttle',
    names: [
      'BandwidthLimitExceeded',
      'ConcurrentTagAccess',
      'CreditSpecificationUpdateInProgress',
      'SnapshotCreationPerVolumeRateExceeded',
    ],
    source: 'page',
  },
  {
    kind: 'throttle',
    names: [
      'ConcurrentModification',
      'ConcurrentModificationException',
      'LimitExceededException',
      'PriorRequestNotComplete',
      'ProvisionedThroughputExceededException',
      'RequestLimitExceeded',
      'SlowDown',
      'TooManyRequestsException',
      'TransactionConflictException',
      'TransactionInProgressException',
    ],
    source: 'models',
  },
  {
    kind: 'transient',
    names: ['AbortError', 'NetworkingError', 'S3Transient', 'TimeoutError'],
    source: 'sdk',
  },
  { kind: 'throttle', names: ['S3Throttled'], source: 'sdk' },
  { kind: 'transient', names: ['RetryableError', 'ServerInternal'], source: 'page' },
  // A host that AWS retires.
  { kind: 'transient', names: ['ScheduledStop'], source: 'ends' },
  { kind: 'transient', names: ['RequestAbortedException', 'ServiceFailureException'], source: 'common' },
  {
    // Spot is closed, On-Demand is not.
    kind: 'quota',
    names: ['AuthFailure.ServiceLinkedRoleCreationNotPermitted'],
    remedy: 'aws iam create-service-linked-role --aws-service-name spot.amazonaws.com',
    source: 'page',
  },
  {
    kind: 'quota',
    names: ['VolumeLimitExceeded', 'MaxIOPSLimitExceeded', 'VolumeIOPSLimit'],
    remedy:
      'request a higher quota of EBS storage (General Purpose SSD, gp3) in Service Quotas, delete volumes, or lower compute.volumeGigabytes',
    source: 'page',
  },
  {
    kind: 'quota',
    names: ['NetworkInterfaceLimitExceeded', 'PlacementGroupLimitExceeded', 'MaxTemplateLimitExceeded'],
    remedy: 'delete what is no longer used, or request a higher quota in Service Quotas',
    source: 'page',
  },
  {
    kind: 'capacity',
    names: ['InsufficientFreeAddressesInSubnet'],
    remedy: 'name larger or more subnets in compute.vpc',
    source: 'page',
  },
  {
    // Of a type that the zone lacks.
    kind: 'capacity',
    names: ['Unsupported', 'InvalidFleetConfiguration', 'VolumeTypeNotAvailableInZone'],
    source: 'page',
  },
  {
    kind: 'capacity',
    names: [
      'IncompatibleHostRequirements',
      'ReservedInstancesUnavailable',
      'ScheduledInstanceSlotUnavailable',
      'SpotMaxPriceTooLow',
      'UnavailableHostRequirements',
      'UnfulfillableCapacity',
    ],
    source: 'page',
  },
  { kind: 'capacity', names: ['CapacityError'], source: 'sdk' },
  {
    kind: 'access',
    names: ['Blocked', 'AccountDisabled', 'OptInRequired', 'NotAuthorized'],
    remedy: 'the account may not use the service: ask AWS Support, or activate the account',
    source: 'page',
  },
  {
    kind: 'access',
    names: ['UnauthorizedOperation', 'OperationNotPermitted'],
    remedy:
      'an IAM policy, a permissions boundary or an organization’s policy denies it: aws sts decode-authorization-message tells which',
    source: 'page',
  },
  {
    kind: 'access',
    names: ['TagPolicyViolation'],
    remedy: 'the organization’s tag policy forbids the tags of the job: allow them for tidewheel:*',
    source: 'page',
  },
  { kind: 'access', names: ['CustomerKeyHasBeenRevoked'], remedy: KEY, source: 'page' },
  // An instance that ended at its start, mostly for a key without a grant. `InternalError` alone is AWS's own fault.
  { kind: 'state', names: ['Client.InternalError'], remedy: KEY, source: 'ends' },
  { kind: 'access', names: ['Forbidden'], source: 'common' },
  {
    kind: 'access',
    names: ['DeclarativePoliciesNotEnabledException', 'LogDestinationPermissionIssue'],
    source: 'page',
  },
  {
    kind: 'credentials',
    names: ['CredentialsProviderError', 'S3SignatureStale', 'TokenProviderError'],
    source: 'sdk',
  },
  {
    kind: 'credentials',
    names: [
      'AuthFailure',
      'IncompleteSignature',
      'InvalidClientTokenId',
      'InvalidSecurity.RequestHasExpired',
      'InvalidSignatureException',
      'MissingAuthenticationToken',
      'RequestExpired',
      'SignatureDoesNotMatch',
      'UnrecognizedClientException',
    ],
    source: 'common',
  },
  {
    kind: 'notFound',
    names: ['InvalidAMIID.NotFound'],
    remedy: 'name an image of this region in compute.ec2.image, which the account may use',
    source: 'page',
  },
  {
    kind: 'notFound',
    names: ['InvalidPlacementGroup.Unknown', 'InvalidTrafficMirrorTargetNoFound'],
    source: 'page',
  },
  {
    kind: 'conflict',
    names: [
      'ConditionalCheckFailedException',
      'ConditionalRequestConflict',
      'ConflictException',
      'PreconditionFailed',
      'ReplicatedWriteConflictException',
      'TransactionCanceledException',
    ],
    source: 'models',
  },
  // Damage that every try had: codes of UnreadableBlobError, whose cause alone says that it may pass.
  { kind: 'state', names: ['ChecksumMismatch', 'OtherLength', 'OtherRange'], source: 'sdk' },
  // Of a token, that something else has. What exists is not what was requested.
  { kind: 'state', names: ['IdempotentParameterMismatch', 'IdempotentInstanceTerminated'], source: 'page' },
  {
    kind: 'state',
    names: [
      'BundlingInProgress',
      'CannotDelete',
      'DeleteConversionTaskError',
      'DependencyViolation',
      'DryRunOperation',
      'ScheduledInstanceSlotNotOpen',
    ],
    source: 'page',
  },
  {
    kind: 'state',
    names: [
      'IdempotentParameterMismatchException',
      'PolicyNotAttachableException',
      'StateMachineDeleting',
      'TaskTimedOut',
      'UnmodifiableEntityException',
    ],
    source: 'models',
  },
  { kind: 'unsupported', names: ['NonEBSInstance', 'NotExportable', 'UnsupportedException'], source: 'page' },
  {
    kind: 'validation',
    names: ['InvalidAMIID.Unavailable'],
    remedy: 'the image is deregistered or not ready: name another in compute.ec2.image',
    source: 'page',
  },
  {
    kind: 'validation',
    names: [
      'DiskImageSizeTooLarge',
      'DuplicateSubnetsInSameZone',
      'Gateway.NotAttached',
      'InstanceEventStartTimeCannotChange',
      'LegacySecurityGroup',
      'LimitPriceExceeded',
      'ScheduledInstanceParameterMismatch',
      'UnknownParameter',
      'UnknownVolumeType',
      'VPCIdNotSpecified',
      'VPCResourceNotSpecified',
      'ZonesMismatched',
    ],
    source: 'page',
  },
  { kind: 'validation', names: ['EncryptionTypeMismatch', 'TooManyParts'], source: 'models' },
  {
    kind: 'validation',
    names: ['RequestEntityTooLargeException', 'SerializationException', 'UnknownOperationException'],
    source: 'common',
  },
];

/** In the order in which they are tried. */
const FORMS: readonly ErrorRule[] = [
  {
    kind: 'notFound',
    form: /^Invalid(?:Subnet|Group|SecurityGroup)I?[dD]?\.NotFound$/,
    remedy: SUBNETS,
    source: 'page',
  },
  { kind: 'validation', form: /^InvalidKMSKey\./, remedy: KEY, source: 'ends' },
  { kind: 'notFound', form: /NotFound(?:Exception)?$|DoesNotExist$|^NoSuch[A-Z]/, source: 'page' },
  {
    kind: 'conflict',
    form: /Duplicate\w*$|InUse\w*$|Already[A-Z]\w*$|AssociationExists$|^Existing|(?:Asn|\.)Conflict$/,
    source: 'page',
  },
  {
    kind: 'state',
    form: /(?:^Incorrect|Invalid|InModifiable)\w*State(?:Exception|Transition)?$/,
    source: 'page',
  },
  { kind: 'unsupported', form: /NotSupported$|Unsupported(?:$|[A-Z.])/, source: 'page' },
  { kind: 'throttle', form: /Throttl(?:ed|ing)(?:Exception)?$/, source: 'common' },
  {
    kind: 'transient',
    form: /^(?:Internal(?:Error|Failure|Serv\w+)|RequestTimeout|(?:Service)?Unavailable)(?:Exception)?$/,
    source: 'common',
  },
  { kind: 'credentials', form: /^ExpiredToken(?:Exception)?$/, source: 'common' },
  { kind: 'access', form: /AccessDenied(?:Exception)?$|^InaccessibleStorage/, source: 'common' },
  { kind: 'validation', form: /Invalid[A-Z]|^Validation(?:Error|Exception)$/, source: 'page' },
  { kind: 'validation', form: /^(?:Malformed|Missing)[A-Z]|Malformed$/, source: 'common' },
  { kind: 'quota', form: /(?:Limit|Quota|Count)Exceeded(?:Exception)?$/, source: 'page' },
  {
    kind: 'capacity',
    form: /^Insufficient\w*(?:Capacity|Addresses)|CapacityExceeded(?:Exception)?$/,
    source: 'page',
  },
];

const BY_NAME: ReadonlyMap<string, ErrorRule> = new Map(
  NAMES.flatMap((rule) => (rule.names ?? []).map((name) => [name, rule] as const)),
);

/** In front of codes where requests and instances have the same. `Client.InternalError` is an error of its own. */
const SIDE = /^(?:Server\.|Client\.(?!InternalError$))/;

/** The rule for an error's name. */
export function errorRule(given: string): ErrorRule | undefined {
  const name = given.replace(SIDE, '');
  return BY_NAME.get(name) ?? FORMS.find(({ form }) => form?.test(name));
}

/** What AWS said, with what a person can do where its words do not tell. */
export function withRemedy(name: string, message: string): string {
  const remedy = errorRule(name)?.remedy;
  return remedy === undefined ? message : `${message} (remedy: ${remedy})`;
}
