/**
 * What SageMaker's own Python SDK (2.257.7, `PyTorch(...).fit()`) sends for the same training, against what Tidewheel
 * sends. Every difference is intended and has its reason here; a difference that is not listed fails, and so does one
 * that is listed and gone.
 */
import { describe, expect, it } from 'vitest';
import { buildTrainingJob } from '../../functions/launch/sagemaker/training-job.ts';
import { declaration, launch, placement } from '../support/builders/launch.ts';

const IMAGE = '763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.3.0-gpu-py311';

/** What the SDK adds for its toolkit, ours leaves out; the same for every estimator. */
const sdkHyperparameters = (job: string) => ({
  epochs: '3',
  sagemaker_program: '"train.py"',
  sagemaker_submit_directory: `"s3://tw-train/code/${job}/source/sourcedir.tar.gz"`,
  sagemaker_container_log_level: '20',
  sagemaker_job_name: `"${job}"`,
  sagemaker_region: '"us-east-1"',
});

/** Two nodes of g5.12xlarge on managed Spot with torch_distributed; names are made up. */
const SDK_REQUEST = {
  TrainingJobName: 'tw-ddp-1',
  RoleArn: 'arn:aws:iam::123456789012:role/sm',
  AlgorithmSpecification: {
    TrainingImage: IMAGE,
    TrainingInputMode: 'File',
    MetricDefinitions: [{ Name: 'loss', Regex: 'loss=([0-9.]+)' }],
    EnableSageMakerMetricsTimeSeries: true,
  },
  HyperParameters: {
    ...sdkHyperparameters('tw-ddp-1'),
    sagemaker_torch_distributed_enabled: 'true',
    sagemaker_instance_type: '"ml.g5.12xlarge"',
  },
  InputDataConfig: [
    {
      ChannelName: 'train',
      DataSource: {
        S3DataSource: {
          S3DataType: 'S3Prefix',
          S3Uri: 's3://tw-train/data/',
          S3DataDistributionType: 'FullyReplicated',
        },
      },
    },
  ],
  OutputDataConfig: { S3OutputPath: 's3://tw-train/out' },
  ResourceConfig: { InstanceType: 'ml.g5.12xlarge', InstanceCount: 2, VolumeSizeInGB: 30 },
  StoppingCondition: { MaxRuntimeInSeconds: 3600, MaxWaitTimeInSeconds: 7200 },
  EnableManagedSpotTraining: true,
  CheckpointConfig: { S3Uri: 's3://tw-train/ckpt/run1', LocalPath: '/opt/ml/checkpoints' },
  Environment: { NCCL_DEBUG: 'INFO' },
  Tags: [{ Key: 'owner', Value: 'tw' }],
  ProfilerConfig: { S3OutputPath: 's3://tw-train/out', DisableProfiler: false },
};

/** The same with a group of CPU nodes beside it: `PyTorch(instance_groups=[...], distribution=...)`. */
const SDK_HETEROGENEOUS = {
  ...SDK_REQUEST,
  TrainingJobName: 'tw-het-2',
  AlgorithmSpecification: {
    TrainingImage: IMAGE,
    TrainingInputMode: 'File',
    EnableSageMakerMetricsTimeSeries: true,
  },
  HyperParameters: { ...sdkHyperparameters('tw-het-2'), sagemaker_torch_distributed_enabled: 'true' },
  InputDataConfig: [
    {
      ChannelName: 'train',
      DataSource: {
        S3DataSource: {
          S3DataType: 'S3Prefix',
          S3Uri: 's3://tw-train/data/',
          S3DataDistributionType: 'FullyReplicated',
          InstanceGroupNames: ['gpu'],
        },
      },
    },
  ],
  ResourceConfig: {
    VolumeSizeInGB: 30,
    InstanceGroups: [
      { InstanceGroupName: 'gpu', InstanceType: 'ml.g5.12xlarge', InstanceCount: 2 },
      { InstanceGroupName: 'cpu', InstanceType: 'ml.c5.4xlarge', InstanceCount: 1 },
    ],
  },
  CheckpointConfig: { S3Uri: 's3://tw-train/ckpt/run2' },
  DebugHookConfig: { S3OutputPath: 's3://tw-train/out', CollectionConfigurations: [] },
};

const NAMED = 'named by run and attempt, so that a launch tried twice is one job';
const OWN_FOLDER = 'everything of a run lies in the folder of its run';
const INTENDED: Readonly<Record<string, string>> = {
  TrainingJobName: NAMED,
  'HyperParameters.sagemaker_job_name': NAMED,
  'AlgorithmSpecification.ContainerEntrypoint':
    'our agent is the entry point: the toolkit does not pass SIGTERM on to the script',
  'AlgorithmSpecification.MetricDefinitions': 'the agent prints one kind of line, whatever the script prints',
  'HyperParameters.sagemaker_submit_directory':
    'the source is a channel (code), which needs no unpacking and no rights for the script',
  'HyperParameters.sagemaker_torch_distributed_enabled':
    'tells the toolkit to start torchrun; the agent reads tidewheel_strategy',
  'HyperParameters.sagemaker_instance_type': 'for the toolkit; the agent reads resourceconfig.json',
  'HyperParameters.tidewheel_strategy': 'tells the agent which launcher to start',
  'HyperParameters.tidewheel_run_id': 'tells the agent whose progress it reports',
  'HyperParameters.tidewheel_checkpoint_seconds': 'the interval that the policy computed',
  'InputDataConfig[0].InputMode': 'stated per channel, because code and agent are files whatever the data is',
  'InputDataConfig[0].DataSource.S3DataSource.S3Uri': OWN_FOLDER,
  'InputDataConfig[1]': 'the channel that brings the source',
  'InputDataConfig[2]': 'the channel that brings the agent',
  'OutputDataConfig.S3OutputPath': OWN_FOLDER,
  'CheckpointConfig.S3Uri': 'one prefix for all attempts of a run: that is how the next one resumes',
  'ResourceConfig.VolumeSizeInGB': 'a g5 has NVMe of a fixed size; SageMaker makes no EBS volume for it',
  Environment: 'tells the agent that capacity may be taken away; NCCL settings are its business',
  Tags: 'name pipeline, run and attempt, for cost allocation',
  ProfilerConfig: 'the agent measures utilisation itself; the profiler would write to the bucket unasked',
  EnableNetworkIsolation: 'stated, with the reason beside it in training-job.ts; the default is the same',
  EnableInterContainerTrafficEncryption:
    'stated, with the reason beside it in training-job.ts; the default is the same',
};

const {
  'ResourceConfig.VolumeSizeInGB': _,
  'HyperParameters.sagemaker_instance_type': __,
  ...COMMON
} = INTENDED;
const INTENDED_FOR_GROUPS: Readonly<Record<string, string>> = {
  ...COMMON,
  'HyperParameters.sagemaker_distribution_instance_groups':
    'the SDK forgets it for torch_distributed: without it the CPU group starts a torchrun cluster of its own',
  'InputDataConfig[0].DataSource.S3DataSource.InstanceGroupNames[0]':
    'the group that trains has one name in every pipeline',
  'InputDataConfig[0].DataSource.S3DataSource.InstanceGroupNames[1]':
    'helpers preprocess the shards, so they read them too',
  'ResourceConfig.InstanceGroups[0].InstanceGroupName':
    'the group that trains has one name in every pipeline',
  'CheckpointConfig.LocalPath': 'stated; the default is the same',
  DebugHookConfig: 'the debugger would write to the bucket unasked',
};

/** Paths at which two JSON values differ; a whole subtree when one side lacks it. */
function differences(left: unknown, right: unknown, path = ''): string[] {
  if (left === undefined || right === undefined || !isContainer(left) || !isContainer(right)) {
    return JSON.stringify(left) === JSON.stringify(right) ? [] : [path];
  }
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return names.flatMap((name) => {
    const below = Array.isArray(left) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    return differences(Reflect.get(left, name), Reflect.get(right, name), below);
  });
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** These are lists or maps of ours altogether: compared as a whole. */
const WHOLE = ['Environment', 'Tags', 'AlgorithmSpecification.MetricDefinitions'];
const summarised = (paths: readonly string[]): string[] => [
  ...new Set(paths.map((path) => WHOLE.find((prefix) => path.startsWith(prefix)) ?? path)),
];

/** The launch that an SDK user would write as that estimator. */
const sameAs = (compute: Record<string, unknown>) =>
  launch({
    bucket: 'tw-train',
    roleArn: SDK_REQUEST.RoleArn,
    declaration: declaration({ training: { image: IMAGE, hyperparameters: { epochs: 3 } }, compute }),
    placement: placement({
      pool: { instanceType: 'g5.12xlarge', launcher: 'sagemaker', purchaseOption: 'spot' },
    }),
  });

describe("Tidewheel's request for the SDK's estimator", () => {
  const job = buildTrainingJob(sameAs({}));
  const ours = job.kind === 'request' ? job.request : undefined;

  it('differs from it exactly where that is intended', () => {
    expect(summarised(differences(SDK_REQUEST, ours)).toSorted()).toEqual(Object.keys(INTENDED).toSorted());
  });

  it('encodes the same hyperparameters the same way', () => {
    const { epochs, sagemaker_program, sagemaker_region, sagemaker_container_log_level } =
      SDK_REQUEST.HyperParameters;
    expect(ours?.HyperParameters).toMatchObject({
      epochs,
      sagemaker_program,
      sagemaker_region,
      sagemaker_container_log_level,
    });
  });
});

describe("Tidewheel's request for the SDK's heterogeneous estimator", () => {
  it('differs from it exactly where that is intended', () => {
    const helpers = [{ name: 'cpu', instanceType: 'c5.4xlarge', nodes: 1 }];
    const job = buildTrainingJob(sameAs({ helpers, spotWithHelpers: true }));
    const ours = job.kind === 'request' ? job.request : undefined;
    expect(summarised(differences(SDK_HETEROGENEOUS, ours)).toSorted()).toEqual(
      Object.keys(INTENDED_FOR_GROUPS).toSorted(),
    );
  });
});
