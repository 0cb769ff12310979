/** The rules between fields of CreateTrainingJob, which no service model holds, as AWS documents or enforces them. */

import { AGENT_FILE } from '@tidewheel/contract/bucket-keys.ts';
import type { CreateTrainingJobRequest } from '../../functions/launch/job/request.ts';

interface Rule {
  readonly name: string;
  readonly holds: (request: CreateTrainingJobRequest) => boolean;
}

/** Types with NVMe of a fixed size: an EBS volume is refused or ignored. Written apart from the code under test. */
const LOCAL_STORAGE =
  /^ml\.(g4dn|g5|g6|g6e|g7|g7e|p3dn|p4d|p4de|p5|p5e|p5en|p6-b200|p6-b300|p6e-gb200|r5d|trn1|trn1n|trn2)\./;

const sources = (request: CreateTrainingJobRequest) =>
  request.InputDataConfig.flatMap((channel) => channel.DataSource.S3DataSource ?? []);
const unique = (values: readonly string[]): boolean => new Set(values).size === values.length;

const RULES: readonly Rule[] = [
  {
    name: 'managed Spot has a wait limit that covers the run time, On-Demand has none',
    holds: ({
      EnableManagedSpotTraining: spot,
      StoppingCondition: { MaxRuntimeInSeconds: run, MaxWaitTimeInSeconds: wait },
    }) => (spot ? wait !== undefined && wait >= run : wait === undefined),
  },
  {
    name: 'a job runs for 28 days at most',
    holds: ({ StoppingCondition: { MaxRuntimeInSeconds: run } }) => run <= 28 * 86_400,
  },
  {
    name: 'a job has one type or preferences and a count, or groups, never both',
    holds: ({
      ResourceConfig: {
        InstanceType: type,
        InstancePreferences: preferences,
        InstanceCount: count,
        InstanceGroups: groups,
      },
    }) =>
      groups === undefined
        ? (type === undefined) !== (preferences === undefined) && count !== undefined
        : type === undefined && preferences === undefined && count === undefined,
  },
  {
    name: 'preferences are one to five different types, on demand',
    holds: ({ ResourceConfig: { InstancePreferences: preferences }, EnableManagedSpotTraining: spot }) =>
      preferences === undefined ||
      (!spot &&
        preferences.length >= 1 &&
        preferences.length <= 5 &&
        unique(preferences.map(({ InstanceType }) => InstanceType))),
  },
  {
    name: 'groups are at most five and have different names',
    holds: ({ ResourceConfig: { InstanceGroups: groups = [] } }) =>
      groups.length <= 5 && unique(groups.map(({ InstanceGroupName }) => InstanceGroupName)),
  },
  {
    name: 'all channels name groups or none does, and only groups that there are',
    holds: (request) => {
      const names = new Set(
        request.ResourceConfig.InstanceGroups?.map(({ InstanceGroupName }) => InstanceGroupName),
      );
      const lists = sources(request).map(({ InstanceGroupNames }) => InstanceGroupNames);
      const none = lists.every((list) => list === undefined);
      return (
        none ||
        lists.every((list) => list !== undefined && list.length > 0 && list.every((name) => names.has(name)))
      );
    },
  },
  {
    name: 'several groups name the group that trains, or every group would start a cluster of its own',
    holds: ({ ResourceConfig: { InstanceGroups: groups = [] }, HyperParameters }) =>
      groups.length < 2 || 'sagemaker_distribution_instance_groups' in HyperParameters,
  },
  {
    name: 'a size of disk is given exactly where SageMaker makes one',
    holds: ({
      ResourceConfig: {
        InstanceType: type,
        InstancePreferences: preferences,
        InstanceGroups: groups = [],
        VolumeSizeInGB: size,
      },
    }) => {
      const several = (preferences ?? groups).map(({ InstanceType }) => InstanceType);
      const types = type === undefined ? several : [type];
      return types.every((one) => LOCAL_STORAGE.test(one)) ? size === undefined : (size ?? 0) >= 1;
    },
  },
  {
    name: 'no volume key is set, no warm pool kept',
    holds: ({ ResourceConfig }) =>
      ['VolumeKmsKeyId', 'KeepAlivePeriodInSeconds'].every((name) => !(name in ResourceConfig)),
  },
  {
    name: 'a training plan takes neither Spot nor instance groups',
    holds: ({ ResourceConfig, EnableManagedSpotTraining }) =>
      ResourceConfig.TrainingPlanArn === undefined ||
      (!EnableManagedSpotTraining && ResourceConfig.InstanceGroups === undefined),
  },
  {
    name: 'channels have different names',
    holds: ({ InputDataConfig }) => unique(InputDataConfig.map(({ ChannelName }) => ChannelName)),
  },
  {
    name: 'FastFile reads prefixes that end in a slash only',
    holds: ({ InputDataConfig }) =>
      InputDataConfig.every(
        ({ InputMode, DataSource: { S3DataSource: source } }) =>
          InputMode !== 'FastFile' || (source?.S3DataType === 'S3Prefix' && source.S3Uri.endsWith('/')),
      ),
  },
  {
    name: 'a file system is a File channel of a job in a VPC without groups, and a channel has one source',
    holds: ({ InputDataConfig, VpcConfig, ResourceConfig }) =>
      InputDataConfig.every(
        ({ InputMode, DataSource: { S3DataSource: s3, FileSystemDataSource: mounted } }) =>
          mounted === undefined
            ? s3 !== undefined
            : s3 === undefined &&
              InputMode === 'File' &&
              VpcConfig !== undefined &&
              ResourceConfig.InstanceGroups === undefined,
      ),
  },
  {
    name: 'code and agent are files, whatever the data is',
    holds: ({ InputDataConfig }) =>
      InputDataConfig.every(
        ({ ChannelName, InputMode }) => !['code', 'agent'].includes(ChannelName) || InputMode === 'File',
      ),
  },
  {
    name: 'every prefix ends in a slash, so that it cannot be the beginning of another name',
    holds: (request) =>
      sources(request).every(({ S3DataType, S3Uri }) => S3DataType !== 'S3Prefix' || S3Uri.endsWith('/')),
  },
  {
    name: 'only the dataset is ever divided over the hosts',
    holds: ({ InputDataConfig }) =>
      InputDataConfig.every(
        ({ ChannelName, DataSource }) =>
          ['train', 'training'].includes(ChannelName) ||
          (DataSource.S3DataSource?.S3DataDistributionType ?? 'FullyReplicated') === 'FullyReplicated',
      ),
  },
  {
    name: 'the entry point is the agent of the channel that brings it',
    holds: ({ AlgorithmSpecification, InputDataConfig }) => {
      const [program, file = ''] = AlgorithmSpecification.ContainerEntrypoint;
      const [channel, ...rest] = file.replace('/opt/ml/input/data/', '').split('/');
      const isBrought = InputDataConfig.some(({ ChannelName }) => ChannelName === channel);
      return program === 'python3' && isBrought && rest.join('/') === AGENT_FILE;
    },
  },
  {
    name: 'every hyperparameter is JSON',
    holds: ({ HyperParameters }) => Object.values(HyperParameters).every(isJson),
  },
  {
    name: 'a job that may be interrupted has somewhere to save',
    holds: ({ EnableManagedSpotTraining: spot, CheckpointConfig }) =>
      !spot || CheckpointConfig.S3Uri.startsWith('s3://'),
  },
];

export const broken = (request: CreateTrainingJobRequest): string[] =>
  RULES.filter(({ holds }) => !holds(request)).map(({ name }) => name);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
