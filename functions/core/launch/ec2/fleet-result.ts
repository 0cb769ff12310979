/** Interprets CreateFleet's answer, which is HTTP 200 even without instances. Its Errors hold the reasons. */
import { vcpuQuotaRemedy } from '../../catalog/types/vcpu-quotas.ts';
import { type AwsErrorClass, awsErrorClass } from '../../shared/aws-error-class.ts';
import type { CreateOutcome } from '../job/training-service.ts';

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
const NOT_SEEN_YET: ReadonlySet<string> = new Set([
  'InvalidLaunchTemplateId.NotFound',
  'InvalidLaunchTemplateName.NotFoundException',
  'InvalidPlacementGroup.Unknown',
]);
export const isNotSeenYet = (code: string): boolean => NOT_SEEN_YET.has(code);

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

function failure({ Errors = [] }: CreateFleetAnswer, launched: number, gang: RequestedGang): CreateOutcome {
  const kinds = new Set(Errors.map(({ ErrorCode = '' }) => classOf(ErrorCode)));
  const said = Errors.map(
    ({ ErrorCode = 'no code', ErrorMessage = 'no message' }) =>
      `${ErrorCode}: ${explainedError(ErrorCode, ErrorMessage, gang)}`,
  );
  const message =
    said.length > 0
      ? [...new Set(said)].join('; ')
      : `EC2 launched ${launched} of ${gang.hosts} hosts and gave no reason`;
  // A capacity error alone justifies another pool, whatever the other errors are.
  if (Errors.length === 0 || kinds.has('capacity')) return { kind: 'capacity', message };
  if (kinds.has('quota')) return { kind: 'quota', message };
  if (kinds.has('throttle') || kinds.has('transient')) return { kind: 'throttled', message };
  return { kind: kinds.has('access') ? 'denied' : 'invalid', message };
}

function classOf(code: string): AwsErrorClass {
  if (isNotSeenYet(code)) return 'transient';
  return NOT_IN_ZONE.has(code) ? 'capacity' : awsErrorClass({ name: code });
}
