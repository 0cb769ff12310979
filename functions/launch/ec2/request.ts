/**
 * The part of EC2's API that requests a fleet, field for field. The adapter checks at compile time that it is assignable
 * to the SDK's own inputs. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html
 */

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
  };
}

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
    readonly Overrides: { readonly InstanceType: string }[];
  }[];
  readonly TargetCapacitySpecification: {
    readonly TotalTargetCapacity: number;
    readonly DefaultTargetCapacityType: 'spot' | 'on-demand';
  };
  readonly SpotOptions?: MarketOptions & {
    readonly AllocationStrategy: 'price-capacity-optimized';
    readonly InstanceInterruptionBehavior: 'terminate';
  };
  readonly OnDemandOptions?: MarketOptions & { readonly AllocationStrategy: 'lowest-price' };
  readonly TagSpecifications: TagSpecification[];
}
