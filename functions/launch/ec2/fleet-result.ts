/** Interprets CreateFleet's answer, which is HTTP 200 even without instances. Its Errors hold the reasons. */
import { vcpuQuotaRemedy } from '@tidewheel/declaration/instance-types.ts';
import { type AwsErrorClass, awsErrorClass } from '../../records/aws-error-class.ts';
import { withRemedy } from '../../records/aws-error-table.ts';
import { type CreateOutcome, refusalOf } from '../job/training-service.ts';

interface FleetError {
  readonly ErrorCode?: string | undefined;
  readonly ErrorMessage?: string | undefined;
  /** What was refused: one of the requested types. */
  readonly LaunchTemplateAndOverrides?:
    | { readonly Overrides?: { readonly InstanceType?: string | undefined } | undefined }
    | undefined;
}

export interface CreateFleetAnswer {
  readonly FleetId?: string | undefined;
  readonly Errors?: readonly FleetError[] | undefined;
  readonly Instances?: readonly { readonly InstanceIds?: readonly string[] | undefined }[] | undefined;
}

export interface CreateFleetResult {
  readonly outcome: CreateOutcome;
  /** Instances to terminate: they would wait for the missing hosts of their gang. */
  readonly incompleteGang: readonly string[];
}

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

/** EC2's errors for a quota of vCPUs, which name neither the quota nor its value. */
const VCPU_QUOTA: ReadonlySet<string> = new Set(['MaxSpotInstanceCountExceeded', 'VcpuLimitExceeded']);

/** With the remedy where EC2's own message has none. */
export function explainedError(
  code: string,
  message: string,
  { instanceType, purchaseOption }: Omit<RequestedGang, 'hosts'>,
): string {
  return VCPU_QUOTA.has(code)
    ? `${message} (${vcpuQuotaRemedy(instanceType, purchaseOption)})`
    : withRemedy(code, message);
}

/** A capacity error alone justifies another pool, whatever the other errors are. Fatal errors come last. */
const ORDER: readonly AwsErrorClass[] = [
  'capacity',
  'quota',
  'throttle',
  'transient',
  'unsupported',
  'state',
  'unknown',
  'access',
];

function failure({ Errors = [] }: CreateFleetAnswer, launched: number, gang: RequestedGang): CreateOutcome {
  const codes = Errors.map(({ ErrorCode = '' }) => ErrorCode);
  const kinds = codes.map(classOf);
  const said = Errors.map(
    ({ ErrorCode = 'no code', ErrorMessage = 'no message', LaunchTemplateAndOverrides: refused }) => {
      const instanceType = refused?.Overrides?.InstanceType ?? gang.instanceType;
      return `${ErrorCode}: ${explainedError(ErrorCode, ErrorMessage, { ...gang, instanceType })}`;
    },
  );
  const message =
    said.length > 0
      ? [...new Set(said)].join('; ')
      : `EC2 launched ${launched} of ${gang.hosts} hosts and gave no reason`;
  const kind = ORDER.find((each) => kinds.includes(each)) ?? kinds[0] ?? 'capacity';
  // Hosts that came and were ended bear the attempt's name, so the same attempt cannot be launched again.
  return refusalOf(launched > 0 && kind !== 'quota' ? 'capacity' : kind, message);
}

const classOf = (code: string): AwsErrorClass =>
  isNotSeenYet(code) ? 'transient' : awsErrorClass({ name: code });
