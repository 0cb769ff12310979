/** Constraints of CreateTrainingJob's input, as in AWS's service model of SageMaker 2017-07-24. */
import { TrainingInstanceType } from '@aws-sdk/client-sagemaker';
import type { Constraint } from './constraints.ts';
import {
  boolean,
  inputMode,
  integer,
  jobName,
  line,
  list,
  map,
  oneOf,
  parameters,
  planArn,
  profilerConfig,
  remoteDebugConfig,
  ruleConfigurations,
  s3Uri,
  structure,
  tags,
  text,
} from './primitives.ts';

/** Newer than the pinned SDK's list. */
const flexSizes = ['xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge'];
const flexTypes = ['m7i', 'c7i', 'm8i', 'c8i', 'r8i'].flatMap((family) =>
  [...(family.startsWith('c') ? [] : ['large']), ...flexSizes].map((size) => `ml.${family}-flex.${size}`),
);
const instanceType: Constraint = {
  kind: 'string',
  values: [...Object.values(TrainingInstanceType), ...flexTypes],
};
const kmsKey = text(2048, /[a-zA-Z0-9:/_-]*/);
const groupName = text(64, /.+/, 1);
const algorithmSpecification = structure(
  {
    TrainingImage: text(255, line),
    AlgorithmName: text(
      170,
      /(arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:[a-z-]*\/)?([a-zA-Z0-9]([a-zA-Z0-9-]){0,62})(?<!-)/,
      1,
    ),
    TrainingInputMode: inputMode,
    MetricDefinitions: list(
      structure({ Name: text(255, /.+/, 1), Regex: text(500, /.+/, 1) }, 'Name', 'Regex'),
      40,
    ),
    EnableSageMakerMetricsTimeSeries: boolean,
    ContainerEntrypoint: list(text(256, line), 100, 1),
    ContainerArguments: list(text(256, line), 100, 1),
    TrainingImageConfig: structure(
      {
        TrainingRepositoryAccessMode: oneOf('Platform', 'Vpc'),
        TrainingRepositoryAuthConfig: structure(
          {
            TrainingRepositoryCredentialsProviderArn: text(
              2048,
              /arn:[a-zA-Z0-9-]+:lambda:[a-zA-Z0-9-]+:[0-9]{12}:function:.*/,
              1,
            ),
          },
          'TrainingRepositoryCredentialsProviderArn',
        ),
      },
      'TrainingRepositoryAccessMode',
    ),
  },
  'TrainingInputMode',
);

const s3DataSource = structure(
  {
    S3DataType: oneOf('ManifestFile', 'S3Prefix', 'AugmentedManifestFile', 'Converse'),
    S3Uri: s3Uri,
    S3DataDistributionType: oneOf('FullyReplicated', 'ShardedByS3Key'),
    AttributeNames: list(text(256, /.+/, 1), 16),
    InstanceGroupNames: list(groupName, 5),
    ModelAccessConfig: structure({ AcceptEula: boolean }, 'AcceptEula'),
    HubAccessConfig: structure({ HubContentArn: text(255, line) }, 'HubContentArn'),
  },
  'S3DataType',
  'S3Uri',
);

const fileSystemDataSource = structure(
  {
    FileSystemId: text(21, /fs-[0-9a-f]{8,}/, 11),
    FileSystemAccessMode: oneOf('rw', 'ro'),
    FileSystemType: oneOf('EFS', 'FSxLustre'),
    DirectoryPath: text(4096, line),
  },
  'FileSystemId',
  'FileSystemAccessMode',
  'FileSystemType',
  'DirectoryPath',
);

const datasetArn = text(
  2048,
  /(arn:[a-z0-9-.]{1,63}:sagemaker:\w+(?:-\w+)+:(\d{12}|aws):hub-content\/)[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}\/DataSet\/[a-zA-Z0-9](-*[a-zA-Z0-9]){0,63}(\/\d{1,4}.\d{1,4}.\d{1,4})?/,
);

const channel = structure(
  {
    ChannelName: text(64, /[A-Za-z0-9.\-_]+/, 1),
    DataSource: structure({
      S3DataSource: s3DataSource,
      FileSystemDataSource: fileSystemDataSource,
      DatasetSource: structure({ DatasetArn: datasetArn }, 'DatasetArn'),
    }),
    ContentType: text(256, line),
    CompressionType: oneOf('None', 'Gzip'),
    RecordWrapperType: oneOf('None', 'RecordIO'),
    InputMode: inputMode,
    ShuffleConfig: structure({ Seed: integer() }, 'Seed'),
  },
  'ChannelName',
  'DataSource',
);

const resourceConfig = structure({
  InstanceType: instanceType,
  InstanceCount: integer(0),
  VolumeSizeInGB: integer(0),
  VolumeKmsKeyId: kmsKey,
  KeepAlivePeriodInSeconds: integer(0, 21_600),
  InstanceGroups: list(
    structure(
      { InstanceGroupName: groupName, InstanceType: instanceType, InstanceCount: integer(0) },
      'InstanceGroupName',
      'InstanceType',
      'InstanceCount',
    ),
    5,
  ),
  TrainingPlanArn: planArn,
  InstancePlacementConfig: structure({
    EnableMultipleJobs: boolean,
    PlacementSpecifications: list(
      structure({ UltraServerId: text(256), InstanceCount: integer(0) }, 'InstanceCount'),
      10,
    ),
  }),
  InstancePreferences: list(
    structure(
      { InstanceType: instanceType, InstanceCount: integer(0), TrainingPlanArns: list(planArn, 1, 1) },
      'InstanceType',
    ),
    5,
    1,
  ),
  SelectedInstanceType: instanceType,
  SelectedInstanceCount: integer(0),
});

const debugHookConfig = structure(
  {
    LocalPath: text(4096, line),
    S3OutputPath: s3Uri,
    HookParameters: parameters(20),
    CollectionConfigurations: list(
      structure({ CollectionName: text(256, line, 1), CollectionParameters: parameters(20) }),
      20,
    ),
  },
  'S3OutputPath',
);
const experimentName = text(120, /[a-zA-Z0-9](-*[a-zA-Z0-9]){0,119}/, 1);
export const createTrainingJobInput = structure(
  {
    TrainingJobName: jobName,
    HyperParameters: map(text(256, line), text(2500, line), 100),
    AlgorithmSpecification: algorithmSpecification,
    RoleArn: text(2048, /arn:aws[a-z-]*:iam::\d{12}:role\/?[a-zA-Z_0-9+=,.@\-_/]+/, 20),
    InputDataConfig: list(channel, 20, 1),
    OutputDataConfig: structure(
      { S3OutputPath: s3Uri, KmsKeyId: kmsKey, CompressionType: oneOf('GZIP', 'NONE') },
      'S3OutputPath',
    ),
    ResourceConfig: resourceConfig,
    VpcConfig: structure(
      {
        SecurityGroupIds: list(text(32, /[-0-9a-zA-Z]+/), 5, 1),
        Subnets: list(text(32, /[-0-9a-zA-Z]+/), 16, 1),
      },
      'SecurityGroupIds',
      'Subnets',
    ),
    StoppingCondition: structure({
      MaxRuntimeInSeconds: integer(1),
      MaxWaitTimeInSeconds: integer(1),
      MaxPendingTimeInSeconds: integer(1_800, 2_419_200),
    }),
    Tags: tags,
    EnableNetworkIsolation: boolean,
    EnableInterContainerTrafficEncryption: boolean,
    EnableManagedSpotTraining: boolean,
    CheckpointConfig: structure({ S3Uri: s3Uri, LocalPath: text(4096, line) }, 'S3Uri'),
    DebugHookConfig: debugHookConfig,
    DebugRuleConfigurations: ruleConfigurations,
    TensorBoardOutputConfig: structure({ LocalPath: text(4096, line), S3OutputPath: s3Uri }, 'S3OutputPath'),
    ExperimentConfig: structure({
      ExperimentName: experimentName,
      TrialName: experimentName,
      TrialComponentDisplayName: experimentName,
      RunName: experimentName,
    }),
    ProfilerConfig: profilerConfig,
    ProfilerRuleConfigurations: ruleConfigurations,
    Environment: map(text(512, /[a-zA-Z_][a-zA-Z0-9_]*/), text(512, /[\S\s]*/), 100),
    RetryStrategy: structure({ MaximumRetryAttempts: integer(1, 30) }, 'MaximumRetryAttempts'),
    RemoteDebugConfig: remoteDebugConfig,
    InfraCheckConfig: structure({ EnableInfraCheck: boolean }),
    SessionChainingConfig: structure({ EnableSessionTagChaining: boolean }),
  },
  'TrainingJobName',
  'RoleArn',
  'OutputDataConfig',
);
