/** The request for a fleet: the whole gang at the launch, the missing hosts in a refill. */
import { JOB_TAG } from '@tidewheel/contract/bucket-keys.ts';
import type { FleetRequest, Tag, TagSpecification } from './request.ts';

/** The attempt's round in which an instance was launched. */
export const ROUND_TAG = 'tidewheel:round';

export const tagged = (
  types: readonly TagSpecification['ResourceType'][],
  tags: readonly Tag[],
): TagSpecification[] => types.map((ResourceType) => ({ ResourceType, Tags: [...tags] }));

export interface FleetChoice {
  /** The name of the job and of its launch template. */
  readonly name: string;
  /** Tags of the pipeline, run and attempt. */
  readonly tags: readonly Tag[];
  /** EC2 name, without `ml.`. */
  readonly instanceType: string;
  readonly purchaseOption: 'spot' | 'on-demand';
  readonly hosts: number;
  readonly round: number;
}

export const jobTags = (name: string, tags: readonly Tag[]): Tag[] => [
  ...tags,
  { Key: JOB_TAG, Value: name },
  { Key: 'Name', Value: name },
];

/**
 * MinTargetCapacity with one type and one zone makes EC2 launch all hosts or none. The launch template's subnet sets the
 * zone, so replacements are in the zone of the remaining hosts.
 */
export function fleetRequest({
  name,
  tags,
  instanceType,
  purchaseOption,
  hosts,
  round,
}: FleetChoice): FleetRequest {
  const gang = { SingleInstanceType: true, SingleAvailabilityZone: true, MinTargetCapacity: hosts };
  const all = [...jobTags(name, tags), { Key: ROUND_TAG, Value: String(round) }];
  return {
    ClientToken: round === 1 ? name : `${name}-r${round}`,
    Type: 'instant',
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: name, Version: '1' },
        Overrides: [{ InstanceType: instanceType }],
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: hosts, DefaultTargetCapacityType: purchaseOption },
    ...(purchaseOption === 'spot'
      ? {
          SpotOptions: {
            ...gang,
            AllocationStrategy: 'price-capacity-optimized',
            InstanceInterruptionBehavior: 'terminate',
          },
        }
      : { OnDemandOptions: { ...gang, AllocationStrategy: 'lowest-price' } }),
    TagSpecifications: tagged(['fleet', 'instance', 'volume', 'network-interface'], all),
  };
}
