/**
 * What SageMaker refuses although each field by itself is right. Pure. Texts are SageMaker's where one is known;
 * AWS's sources for each rule are the API's and the developer guide's pages on Spot, groups and input modes.
 */
import type { Channel, CreateTrainingJobRequest, ResourceConfig } from '@aws-sdk/client-sagemaker';
import { groupsOf } from '../model/job-record.ts';

const DAY_SECONDS = 86_400;
const MAXIMUM_RUNTIME_SECONDS = 28 * DAY_SECONDS;

/** Every rule that the request breaks. */
export function brokenRules(request: CreateTrainingJobRequest): string[] {
  return [
    ...algorithmRules(request),
    ...spotRules(request),
    ...resourceRules(request),
    ...channelRules(request),
    ...localRules(request),
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
  ];
}

function resourceRules(request: CreateTrainingJobRequest): string[] {
  const config = request.ResourceConfig;
  if (!config) return ['ResourceConfig is missing: give InstanceType and InstanceCount, or InstanceGroups'];
  const selected = ['SelectedInstanceType', 'SelectedInstanceCount'] as const;
  const readOnly = selected
    .filter((member) => config[member] !== undefined)
    .map((member) => `${member} is read-only: remove it from ResourceConfig`);
  if (config.InstancePreferences) return [...readOnly, ...preferenceRules(config, request)];
  if (config.InstanceGroups?.length) return [...readOnly, ...instanceGroupRules(config)];
  return [
    ...readOnly,
    ...(config.InstanceType ? [] : ['ResourceConfig needs InstanceType']),
    ...(config.InstanceCount ? [] : ['ResourceConfig needs an InstanceCount of 1 or more']),
  ];
}

function preferenceRules(config: ResourceConfig, request: CreateTrainingJobRequest): string[] {
  const preferences = config.InstancePreferences ?? [];
  const counted = preferences.filter(({ InstanceCount }) => InstanceCount).length;
  const areCounted = config.InstanceCount ? counted === 0 : counted === preferences.length;
  return [
    ...(['InstanceType', 'InstanceGroups', 'InstancePlacementConfig'] as const)
      .filter((member) => config[member] !== undefined)
      .map((member) => `${member} cannot be specified with InstancePreferences`),
    ...(request.EnableManagedSpotTraining
      ? ['EnableManagedSpotTraining cannot be set to true with InstancePreferences']
      : []),
    ...(areCounted
      ? []
      : [
          'InstancePreferences needs an InstanceCount in ResourceConfig, or in every preference, not in both',
        ]),
    ...(preferences.some(({ TrainingPlanArns }) => TrainingPlanArns?.length) && config.TrainingPlanArn
      ? ['TrainingPlanArn cannot be specified with TrainingPlanArns of a preference']
      : []),
    ...repeated(preferences.map(({ InstanceType }) => InstanceType ?? '')).map(
      (type) => `InstancePreferences names '${type}' more than once`,
    ),
  ];
}

function instanceGroupRules(config: ResourceConfig): string[] {
  const groups = config.InstanceGroups ?? [];
  return [
    ...(config.InstanceType !== undefined || config.InstanceCount !== undefined
      ? ['InstanceType or InstanceCount cannot be specified with InstanceGroups']
      : []),
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
  const sources = Object.values(channel.DataSource ?? {}).filter((source) => source !== undefined).length;
  const s3 = channel.DataSource?.S3DataSource;
  const mode = channel.InputMode ?? request.AlgorithmSpecification?.TrainingInputMode;
  const place = `Channel '${channel.ChannelName ?? ''}'`;
  return [
    ...(sources === 1 ? [] : [`${place} needs exactly one data source, it has ${sources}`]),
    ...(s3 && s3.S3DataType !== 'S3Prefix' && mode === 'FastFile'
      ? [`${place}: FastFile is only supported with S3DataType S3Prefix`]
      : []),
  ];
}

function groupAssignmentRules(channels: readonly Channel[], request: CreateTrainingJobRequest): string[] {
  const known = groupsOf(request).map((group) => group.name);
  const hasGroups = (request.ResourceConfig?.InstanceGroups?.length ?? 0) > 0;
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
function localRules(request: CreateTrainingJobRequest): string[] {
  return [
    ...SERVERLESS.filter((member) => request[member] !== undefined).map(
      (member) => `The local SageMaker runs no serverless jobs: remove ${member}`,
    ),
    ...(request.InputDataConfig ?? []).flatMap((channel) =>
      notServed(channel).map(
        (what) => `Channel '${channel.ChannelName ?? ''}': the local SageMaker serves no ${what}`,
      ),
    ),
  ];
}

function notServed({ DataSource: source, CompressionType, RecordWrapperType }: Channel): string[] {
  const type = source?.S3DataSource?.S3DataType;
  return [
    ...(type === 'AugmentedManifestFile' || type === 'Converse' ? [type] : []),
    ...(source?.DatasetSource ? ['hub data sets'] : []),
    ...(source?.FileSystemDataSource ? ['file systems'] : []),
    ...(CompressionType === 'Gzip' ? ['Gzip'] : []),
    ...(RecordWrapperType === 'RecordIO' ? ['RecordIO'] : []),
  ];
}

const repeated = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
];
