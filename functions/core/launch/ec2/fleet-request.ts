/** The request for a fleet: of the whole gang at the launch, of the missing hosts when some were lost. */
import { JOB_TAG } from '../../shared/keys.ts';
import type { FleetRequest, Tag, TagSpecification } from './request.ts';

/** The round of the attempt that an instance was launched for. */
export const ROUND_TAG = 'tidewheel:round';

export const tagged = (
  types: readonly TagSpecification['ResourceType'][],
  tags: readonly Tag[],
): TagSpecification[] => types.map((ResourceType) => ({ ResourceType, Tags: [...tags] }));

export interface FleetChoice {
  /** The job's name, which is its launch template's too. */
  readonly name: string;
  /** The pipeline's, run's and attempt's. */
  readonly tags: readonly Tag[];
  /** As EC2 names it, without `ml.`. */
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
 * MinTargetCapacity with one type and one zone is what makes it all or nothing: fewer hosts are none. The zone is the
 * subnet's of the launch template, so hosts that are asked for again come beside those that stayed.
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
