/** Interprets CreateFleet's answer, which is HTTP 200 even without instances. Its Errors hold the reasons. */
import { vcpuQuotaRemedy } from '@tidewheel/declaration/instance-types.ts';
import { type AwsErrorClass, awsErrorClass } from '../../records/aws-error-class.ts';
import { type CreateOutcome, refusalOf } from '../job/training-service.ts';

export interface CreateFleetAnswer {
  readonly FleetId?: string | undefined;
  readonly Errors?:
    | readonly { readonly ErrorCode?: string | undefined; readonly ErrorMessage?: string | undefined }[]
    | undefined;
  readonly Instances?: readonly { readonly InstanceIds?: readonly string[] | undefined }[] | undefined;
}

export interface CreateFleetResult {
  readonly outcome: CreateOutcome;
  /** Instances to terminate: they would wait for the missing hosts of their gang. */
  readonly incompleteGang: readonly string[];
}

/** EC2's errors for a type that the zone lacks. They count as a capacity error, not as an invalid request. */
const NOT_IN_ZONE: ReadonlySet<string> = new Set(['Unsupported', 'InvalidFleetConfiguration']);

/**
 * EC2 is eventually consistent: it may not see at once the template and the group that were created a moment ago.
 * https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
 */
const NOT_SEEN_YET = /^InvalidLaunchTemplate(?:Id|Name)\.\w*NotFound|^InvalidPlacementGroup\.Unknown$/;
export const isNotSeenYet = (code: string): boolean => NOT_SEEN_YET.test(code);

/** What was requested of EC2. */
export interface RequestedGang {
  /** EC2's name, without `ml.` */
  readonly instanceType: string;
  readonly purchaseOption: 'spot' | 'on-demand';
  readonly hosts: number;
}

export function createFleetResult(answer: CreateFleetAnswer, gang: RequestedGang): CreateFleetResult {
  const ids = (answer.Instances ?? []).flatMap(({ InstanceIds = [] }) => InstanceIds);
  if (ids.length >= gang.hosts && answer.FleetId !== undefined) {
    return { outcome: { kind: 'created', arn: answer.FleetId }, incompleteGang: [] };
  }
  return { outcome: failure(answer, ids.length, gang), incompleteGang: ids };
}

const NO_SPOT_ROLE = 'AuthFailure.ServiceLinkedRoleCreationNotPermitted';

/** EC2's errors for a quota of vCPUs, which name neither the quota nor its value. */
const VCPU_QUOTA: ReadonlySet<string> = new Set(['MaxSpotInstanceCountExceeded', 'VcpuLimitExceeded']);

/** With the remedy where EC2's own message has none. */
export function explainedError(
  code: string,
  message: string,
  { instanceType, purchaseOption }: Omit<RequestedGang, 'hosts'>,
): string {
  if (code === NO_SPOT_ROLE)
    return `${message} (remedy: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com)`;
  return VCPU_QUOTA.has(code) ? `${message} (${vcpuQuotaRemedy(instanceType, purchaseOption)})` : message;
}

/** A capacity error alone justifies another pool, whatever the other errors are. Fatal errors come last. */
const ORDER: readonly AwsErrorClass[] = ['capacity', 'quota', 'throttle', 'transient', 'unknown', 'access'];

function failure({ Errors = [] }: CreateFleetAnswer, launched: number, gang: RequestedGang): CreateOutcome {
  const codes = Errors.map(({ ErrorCode = '' }) => ErrorCode);
  const kinds = codes.map(classOf);
  const said = Errors.map(
    ({ ErrorCode = 'no code', ErrorMessage = 'no message' }) =>
      `${ErrorCode}: ${explainedError(ErrorCode, ErrorMessage, gang)}`,
  );
  const message =
    said.length > 0
      ? [...new Set(said)].join('; ')
      : `EC2 launched ${launched} of ${gang.hosts} hosts and gave no reason`;
  return refusalOf(ORDER.find((kind) => kinds.includes(kind)) ?? kinds[0] ?? 'capacity', message);
}

function classOf(code: string): AwsErrorClass {
  if (isNotSeenYet(code)) return 'transient';
  return NOT_IN_ZONE.has(code) ? 'capacity' : awsErrorClass({ name: code });
}
