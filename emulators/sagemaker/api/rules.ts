/**
 * What SageMaker refuses although each field by itself is right. Pure. Texts are SageMaker's where one is known;
 * AWS's sources for each rule are the API's and the developer guide's pages on Spot, groups and input modes.
 */
import type { Channel, CreateTrainingJobRequest, ResourceConfig } from '@aws-sdk/client-sagemaker';
import { groupsOf } from '../model/job-record.ts';

const DAY_SECONDS = 86_400;
const MAXIMUM_RUNTIME_SECONDS = 28 * DAY_SECONDS;

export interface LocalAbilities {
  readonly canServeFileSystems: boolean;
}

/** Every rule that the request breaks. */
export function brokenRules(request: CreateTrainingJobRequest, abilities: LocalAbilities): string[] {
  return [
    ...algorithmRules(request),
    ...spotRules(request),
    ...resourceRules(request),
    ...channelRules(request),
    ...localRules(request, abilities),
  ];
}

function algorithmRules(request: CreateTrainingJobRequest): string[] {
  const algorithm = request.AlgorithmSpecification;
  if (!algorithm) return ['AlgorithmSpecification is missing: give TrainingImage and TrainingInputMode'];
  return [
    ...(algorithm.TrainingImage && algorithm.AlgorithmName
      ? ['TrainingImage and AlgorithmName cannot both be specified in AlgorithmSpecification']
      : []),
    ...(algorithm.TrainingImage || algorithm.AlgorithmName
      ? []
      : ['AlgorithmSpecification needs TrainingImage or AlgorithmName']),
    ...repeated(algorithm.MetricDefinitions?.map(({ Name }) => Name ?? '') ?? []).map(
      (name) => `MetricDefinitions names '${name}' more than once`,
    ),
  ];
}

function spotRules(request: CreateTrainingJobRequest): string[] {
  const condition = request.StoppingCondition;
  if (!condition) return ['StoppingCondition is missing: give MaxRuntimeInSeconds'];
  const runtime = condition.MaxRuntimeInSeconds ?? DAY_SECONDS;
  const wait = condition.MaxWaitTimeInSeconds;
  const problems =
    runtime > MAXIMUM_RUNTIME_SECONDS
      ? [`MaxRuntimeInSeconds is ${runtime}, it may be ${MAXIMUM_RUNTIME_SECONDS} (28 days) at most`]
      : [];
  if (!request.EnableManagedSpotTraining) {
    if (wait === undefined) return problems;
    return [
      ...problems,
      'Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is set to true',
    ];
  }
  const resources = request.ResourceConfig;
  return [
    ...problems,
    ...(wait === undefined
      ? ['MaxWaitTimeInSeconds is required when EnableManagedSpotTraining is set to true']
      : wait < runtime
        ? [`Invalid MaxWaitTimeInSeconds ${wait}. It must not be less than MaxRuntimeInSeconds ${runtime}`]
        : []),
    ...(resources?.KeepAlivePeriodInSeconds
      ? ['KeepAlivePeriodInSeconds is not supported when EnableManagedSpotTraining is set to true']
      : []),
    ...(resources?.InstancePreferences
      ? ['InstancePreferences is not supported when EnableManagedSpotTraining is set to true']
      : []),
  ];
}

function resourceRules(request: CreateTrainingJobRequest): string[] {
  const config = request.ResourceConfig;
  if (!config) return ['ResourceConfig is missing: give InstanceType and InstanceCount, or InstanceGroups'];
  if (config.InstanceGroups?.length) return instanceGroupRules(config);
  if (config.InstancePreferences) return preferenceRules(config);
  return [
    ...(config.InstanceType ? [] : ['ResourceConfig needs InstanceType']),
    ...(config.InstanceCount ? [] : ['ResourceConfig needs an InstanceCount of 1 or more']),
  ];
}

function instanceGroupRules(config: ResourceConfig): string[] {
  const groups = config.InstanceGroups ?? [];
  return [
    ...(config.InstanceType !== undefined || config.InstanceCount !== undefined
      ? ['InstanceType or InstanceCount cannot be specified with InstanceGroups']
      : []),
    ...(config.InstancePreferences ? ['InstancePreferences cannot be specified with InstanceGroups'] : []),
    ...(config.KeepAlivePeriodInSeconds
      ? ['KeepAlivePeriodInSeconds is not supported with InstanceGroups']
      : []),
    ...groups
      .filter((group) => !group.InstanceCount)
      .map(
        (group) => `Instance group '${group.InstanceGroupName ?? ''}' needs an InstanceCount of 1 or more`,
      ),
    ...repeated(groups.map((group) => group.InstanceGroupName ?? '')).map(
      (name) => `InstanceGroups names '${name}' more than once`,
    ),
  ];
}

function preferenceRules(config: ResourceConfig): string[] {
  const preferences = config.InstancePreferences ?? [];
  const counted = preferences.filter((preference) => preference.InstanceCount !== undefined).length;
  const hasOneCount = counted === preferences.length ? config.InstanceCount === undefined : counted === 0;
  return [
    ...(config.InstanceType ? ['InstanceType cannot be specified with InstancePreferences'] : []),
    ...(config.InstancePlacementConfig
      ? ['InstancePlacementConfig cannot be specified with InstancePreferences']
      : []),
    ...(hasOneCount && (counted > 0 || config.InstanceCount !== undefined)
      ? []
      : ['Give InstanceCount either in every one of InstancePreferences or once in ResourceConfig']),
    ...repeated(preferences.map((preference) => preference.InstanceType ?? '')).map(
      (type) => `InstancePreferences names ${type} more than once`,
    ),
  ];
}

function channelRules(request: CreateTrainingJobRequest): string[] {
  const channels = request.InputDataConfig ?? [];
  return [
    ...repeated(channels.map((channel) => channel.ChannelName ?? '')).map(
      (name) => `InputDataConfig names channel '${name}' more than once`,
    ),
    ...channels.flatMap((channel) => oneChannelRules(channel, request)),
    ...groupAssignmentRules(channels, request),
  ];
}

function oneChannelRules(channel: Channel, request: CreateTrainingJobRequest): string[] {
  const {
    S3DataSource: s3,
    FileSystemDataSource: fileSystem,
    DatasetSource: dataset,
  } = channel.DataSource ?? {};
  const name = channel.ChannelName ?? '';
  const mode = channel.InputMode ?? request.AlgorithmSpecification?.TrainingInputMode;
  const sources = [s3, fileSystem, dataset].filter((source) => source !== undefined).length;
  const place = `Channel '${name}'`;
  return [
    ...(sources === 1 ? [] : [`${place} needs exactly one data source, it has ${sources}`]),
    ...(mode === 'Pipe'
      ? []
      : pipeOnly(channel).map((what) => `${place}: ${what} is only supported with InputMode Pipe`)),
    ...(s3 && s3.S3DataType !== 'S3Prefix' && mode === 'FastFile'
      ? [`${place}: FastFile is only supported with S3DataType S3Prefix`]
      : []),
    ...(fileSystem ? fileSystemRules(mode, request).map((problem) => `${place}: ${problem}`) : []),
  ];
}

function fileSystemRules(mode: string | undefined, request: CreateTrainingJobRequest): string[] {
  return [
    ...(mode === 'File' ? [] : ['file systems are only supported with InputMode File']),
    ...(request.VpcConfig ? [] : ['file systems need a VpcConfig']),
  ];
}

function pipeOnly(channel: Channel): string[] {
  return [
    ...(channel.DataSource?.S3DataSource?.S3DataType === 'AugmentedManifestFile'
      ? ['AugmentedManifestFile']
      : []),
    ...(channel.CompressionType === 'Gzip' ? ['CompressionType Gzip'] : []),
    ...(channel.RecordWrapperType === 'RecordIO' ? ['RecordWrapperType RecordIO'] : []),
  ];
}

function groupAssignmentRules(channels: readonly Channel[], request: CreateTrainingJobRequest): string[] {
  const known = groupsOf(request).map((group) => group.name);
  const hasGroups = (request.ResourceConfig?.InstanceGroups?.length ?? 0) > 0;
  // A file-system channel has no InstanceGroupNames; whether SageMaker counts it here is not known.
  const named = channels
    .filter((channel) => channel.DataSource?.S3DataSource)
    .map((channel) => ({
      channel: channel.ChannelName ?? '',
      groups: channel.DataSource?.S3DataSource?.InstanceGroupNames ?? [],
    }));
  const assigned = named.filter(({ groups }) => groups.length > 0);
  const others = named.filter(({ groups }) => groups.length === 0);
  const listed = (rows: typeof named): string => rows.map(({ channel }) => channel).join(', ');
  return [
    ...(assigned.length > 0 && !hasGroups
      ? ['InstanceGroupNames needs InstanceGroups in ResourceConfig']
      : []),
    ...(assigned.length > 0 && others.length > 0
      ? [
          `Some channels have assigned instance groups: [${listed(assigned)}] while others not: [${listed(others)}]`,
        ]
      : []),
    ...(hasGroups
      ? assigned.flatMap(({ channel, groups }) =>
          groups
            .filter((group) => !known.includes(group))
            .map(
              (group) =>
                `Channel '${channel}' names instance group '${group}', there are only: ${known.join(', ')}`,
            ),
        )
      : []),
  ];
}

/** Members of serverless jobs, in which no program of the caller runs. */
const SERVERLESS = ['ServerlessJobConfig', 'MlflowConfig', 'ModelPackageConfig'] as const;

/** SageMaker takes these requests. This server cannot run them, and refuses them instead of running them wrongly. */
function localRules(request: CreateTrainingJobRequest, { canServeFileSystems }: LocalAbilities): string[] {
  const serverless = SERVERLESS.filter((member) => request[member] !== undefined).map(
    (member) => `The local SageMaker runs no serverless jobs: remove ${member}`,
  );
  const channels = (request.InputDataConfig ?? []).flatMap((channel) => {
    const name = channel.ChannelName ?? '';
    const {
      S3DataSource: s3,
      FileSystemDataSource: fileSystem,
      DatasetSource: dataset,
    } = channel.DataSource ?? {};
    return [
      ...(s3?.S3DataType === 'AugmentedManifestFile' || s3?.S3DataType === 'Converse' || dataset
        ? [`Channel '${name}': the local SageMaker serves S3Prefix and ManifestFile only`]
        : []),
      ...(fileSystem && !canServeFileSystems
        ? [`Channel '${name}': start the local SageMaker with a fileSystemsDirectory to use file systems`]
        : []),
    ];
  });
  return [...serverless, ...channels];
}

const repeated = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
];
