/**
 * The part of EC2's API that requests a fleet, field for field. The adapter checks at compile time that it is assignable
 * to the SDK's own inputs. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html
 */
import { JOB_TAG } from '@tidewheel/contract/bucket-keys.ts';

export interface Tag {
  readonly Key: string;
  readonly Value: string;
}

export interface TagSpecification {
  readonly ResourceType:
    | 'fleet'
    | 'instance'
    | 'volume'
    | 'network-interface'
    | 'launch-template'
    | 'placement-group';
  readonly Tags: Tag[];
}

export interface NetworkInterfaceRequest {
  readonly DeviceIndex: number;
  readonly NetworkCardIndex: number;
  readonly InterfaceType: 'interface' | 'efa' | 'efa-only';
  readonly SubnetId: string;
  readonly Groups: string[];
  readonly DeleteOnTermination: boolean;
}

export interface PlacementGroupRequest {
  readonly GroupName: string;
  readonly Strategy: 'cluster';
  readonly TagSpecifications: TagSpecification[];
}

export interface LaunchTemplateRequest {
  readonly LaunchTemplateName: string;
  readonly TagSpecifications: TagSpecification[];
  readonly LaunchTemplateData: {
    readonly ImageId: string;
    readonly IamInstanceProfile: { readonly Arn: string };
    readonly UserData: string;
    readonly NetworkInterfaces: NetworkInterfaceRequest[];
    readonly BlockDeviceMappings: {
      readonly DeviceName: string;
      readonly Ebs: {
        readonly VolumeSize: number;
        readonly VolumeType: 'gp3';
        /** MiB/s */
        readonly Throughput: number;
        readonly Iops: number;
        readonly Encrypted: boolean;
        readonly DeleteOnTermination: boolean;
      };
    }[];
    readonly MetadataOptions: {
      readonly HttpTokens: 'required';
      readonly HttpEndpoint: 'enabled';
      readonly HttpPutResponseHopLimit: number;
    };
    readonly InstanceInitiatedShutdownBehavior: 'terminate';
    readonly Placement?: { readonly GroupName: string };
    readonly CapacityReservationSpecification?: {
      readonly CapacityReservationTarget: { readonly CapacityReservationId: string };
    };
    readonly InstanceMarketOptions?: { readonly MarketType: 'capacity-block' };
  };
}

/** A Capacity Reservation takes On-Demand instances whose launch template names it. */
type CapacityType = 'spot' | 'on-demand' | 'capacity-block';

interface MarketOptions {
  readonly SingleInstanceType: boolean;
  readonly SingleAvailabilityZone: boolean;
  readonly MinTargetCapacity: number;
}

export interface FleetRequest {
  readonly ClientToken: string;
  readonly Type: 'instant';
  readonly LaunchTemplateConfigs: {
    readonly LaunchTemplateSpecification: { readonly LaunchTemplateName: string; readonly Version: string };
    readonly Overrides: { readonly InstanceType: string; readonly Priority?: number }[];
  }[];
  readonly TargetCapacitySpecification: {
    readonly TotalTargetCapacity: number;
    readonly DefaultTargetCapacityType: CapacityType;
  };
  readonly SpotOptions?: MarketOptions & {
    readonly AllocationStrategy: 'price-capacity-optimized';
    readonly InstanceInterruptionBehavior: 'terminate';
  };
  readonly OnDemandOptions?: MarketOptions & { readonly AllocationStrategy: 'prioritized' };
  readonly TagSpecifications: TagSpecification[];
}

// The request for a fleet: the whole gang at the launch, the missing hosts in a refill.

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
  /** EC2 names, without `ml.`; on demand the first with capacity is launched. */
  readonly instanceTypes: readonly string[];
  readonly capacityType: CapacityType;
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
  instanceTypes,
  capacityType,
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
        Overrides: instanceTypes.map((InstanceType, Priority) =>
          capacityType === 'on-demand' ? { InstanceType, Priority } : { InstanceType },
        ),
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: hosts, DefaultTargetCapacityType: capacityType },
    ...optionsOf(capacityType, gang),
    TagSpecifications: tagged(['fleet', 'instance', 'volume', 'network-interface'], all),
  };
}

/** EC2 launches what a Capacity Block has left, and knows no least number there: an incomplete gang is ended. */
function optionsOf(
  capacityType: CapacityType,
  gang: MarketOptions,
): Pick<FleetRequest, 'SpotOptions' | 'OnDemandOptions'> {
  switch (capacityType) {
    case 'spot':
      return {
        SpotOptions: {
          ...gang,
          AllocationStrategy: 'price-capacity-optimized',
          InstanceInterruptionBehavior: 'terminate',
        },
      };
    case 'on-demand':
      return { OnDemandOptions: { ...gang, AllocationStrategy: 'prioritized' } };
    case 'capacity-block':
      return {};
  }
}
