/**
 * The errors of AWS by their names: what kind of trouble each is, and what a person can do. Exact names are in
 * `aws-error-names.json`; `aws-error-class.ts` reads both.
 *
 * Sources, read on 2026-11-29:
 * page: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (a test holds its whole list)
 * ends: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html, and "Instance terminates
 * immediately" in EC2's user guide
 * common: the page "Common Error Types" of each service's API reference
 * models: the error shapes of botocore 1.43.106 (SageMaker, IAM, DynamoDB, Lambda, Step Functions)
 * sdk: the names of the AWS SDK for JavaScript, of Node and of S3's data path (`aws/s3/errors.ts`)
 */

import { once } from '@tidewheel/kit/once.ts';
import table from './aws-error-names.json' with { type: 'json' };

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
  /** Completes "remedy: ...". */
  readonly remedy?: string | undefined;
}

interface FormRule extends ErrorRule {
  /** Most names begin or end with what they mean. */
  readonly form: RegExp;
  readonly source: 'page' | 'ends' | 'common' | 'models' | 'sdk';
}

const SUBNETS = 'name subnets and security groups of this account and region in compute.vpc';
const KEY =
  'the key that encrypts EBS volumes by default must be enabled, and its policy must let the service’s role create grants (kms:CreateGrant)';

/** In the order in which they are tried. */
const FORMS: readonly FormRule[] = [
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

const KINDS: readonly KnownErrorClass[] = [
  ...(['throttle', 'transient', 'quota', 'capacity', 'unsupported', 'access'] as const),
  ...(['credentials', 'notFound', 'conflict', 'state', 'validation'] as const),
];

const byName = once((): ReadonlyMap<string, ErrorRule> => {
  const rules: readonly { kind: string; names: readonly string[]; remedy?: string }[] = table.rules;
  return new Map(
    rules.flatMap(({ kind: named, names, remedy }) => {
      const kind = KINDS.find((each) => each === named);
      if (kind === undefined) throw new Error(`aws-error-names.json: ${named} is no class of errors`);
      return names.map((name) => [name, { kind, remedy }] as const);
    }),
  );
});

/** In front of codes where requests and instances have the same. `Client.InternalError` is an error of its own. */
const SIDE = /^(?:Server\.|Client\.(?!InternalError$))/;

/** The rule for an error's name. */
export function errorRule(given: string): ErrorRule | undefined {
  const name = given.replace(SIDE, '');
  return byName().get(name) ?? FORMS.find(({ form }) => form.test(name));
}

/** What AWS said, with what a person can do where its words do not tell. */
export function withRemedy(name: string, message: string): string {
  const remedy = errorRule(name)?.remedy;
  return remedy === undefined ? message : `${message} (remedy: ${remedy})`;
}
