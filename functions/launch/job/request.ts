/**
 * The part of SageMaker's CreateTrainingJob that Tidewheel sends, field for field as the API names it.
 * The adapter checks at compile time that it is assignable to the SDK's own input.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html
 */
import type { InputMode } from '@tidewheel/catalog/data-on-hosts.ts';
import type { TrainingInstanceType } from '@tidewheel/declaration/instance-types.ts';

export interface ChannelRequest {
  readonly ChannelName: string;
  readonly InputMode: InputMode;
  /** Pipe only: shuffles the shards in every epoch. */
  readonly ShuffleConfig?: { readonly Seed: number };
  /** Exactly one of the two. */
  readonly DataSource: {
    readonly FileSystemDataSource?: {
      readonly FileSystemId: string;
      readonly FileSystemType: 'EFS' | 'FSxLustre';
      readonly FileSystemAccessMode: 'ro' | 'rw';
      /** For FSx for Lustre it begins with the mount name. */
      readonly DirectoryPath: string;
    };
    readonly S3DataSource?: {
      readonly S3DataType: 'S3Prefix' | 'ManifestFile';
      readonly S3Uri: string;
      readonly S3DataDistributionType: 'FullyReplicated' | 'ShardedByS3Key';
      /** All channels of a job name groups, or none does. */
      readonly InstanceGroupNames?: string[];
    };
  };
}

export interface InstanceGroupRequest {
  readonly InstanceGroupName: string;
  readonly InstanceType: TrainingInstanceType;
  readonly InstanceCount: number;
}

/** Either one type or several by preference, and a count, or groups: SageMaker refuses two of them together. */
export interface ResourceConfigRequest {
  readonly InstanceType?: TrainingInstanceType;
  /** On demand only: one to five, each once. The first with capacity is selected, and billed. */
  readonly InstancePreferences?: { readonly InstanceType: TrainingInstanceType }[];
  readonly InstanceCount?: number;
  readonly InstanceGroups?: InstanceGroupRequest[];
  readonly VolumeSizeInGB?: number;
  readonly TrainingPlanArn?: string;
}

export interface CreateTrainingJobRequest {
  readonly TrainingJobName: string;
  readonly RoleArn: string;
  readonly HyperParameters: Record<string, string>;
  readonly AlgorithmSpecification: {
    readonly TrainingImage: string;
    readonly TrainingInputMode: InputMode;
    readonly ContainerEntrypoint: string[];
    readonly MetricDefinitions: { readonly Name: string; readonly Regex: string }[];
    readonly EnableSageMakerMetricsTimeSeries: boolean;
  };
  readonly InputDataConfig: ChannelRequest[];
  readonly OutputDataConfig: { readonly S3OutputPath: string; readonly KmsKeyId?: string };
  readonly ResourceConfig: ResourceConfigRequest;
  readonly VpcConfig?: { readonly SecurityGroupIds: string[]; readonly Subnets: string[] };
  readonly StoppingCondition: {
    readonly MaxRuntimeInSeconds: number;
    readonly MaxWaitTimeInSeconds?: number;
  };
  readonly CheckpointConfig: { readonly S3Uri: string; readonly LocalPath: string };
  readonly EnableManagedSpotTraining: boolean;
  readonly EnableNetworkIsolation: boolean;
  readonly EnableInterContainerTrafficEncryption: boolean;
  readonly Environment: Record<string, string>;
  readonly Tags: { readonly Key: string; readonly Value: string }[];
}
