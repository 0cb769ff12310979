/** Requests to begin tests from. */
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import type { JobRecord } from '../../../sagemaker/model/job-record.ts';

export const plainRequest = (more: Partial<CreateTrainingJobRequest> = {}): CreateTrainingJobRequest => ({
  TrainingJobName: 'a-job',
  RoleArn: 'arn:aws:iam::123456789012:role/training',
  AlgorithmSpecification: { TrainingImage: 'image', TrainingInputMode: 'File' },
  OutputDataConfig: { S3OutputPath: 's3://bucket/models' },
  ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 1, VolumeSizeInGB: 30 },
  StoppingCondition: { MaxRuntimeInSeconds: 3_600 },
  ...more,
});

export const spotRequest = (more: Partial<CreateTrainingJobRequest> = {}): CreateTrainingJobRequest =>
  plainRequest({
    EnableManagedSpotTraining: true,
    StoppingCondition: { MaxRuntimeInSeconds: 3_600, MaxWaitTimeInSeconds: 7_200 },
    ...more,
  });

export const groups = (
  ...counts: readonly number[]
): NonNullable<CreateTrainingJobRequest['ResourceConfig']> => ({
  VolumeSizeInGB: 30,
  InstanceGroups: counts.map((InstanceCount, index) => ({
    InstanceGroupName: `group-${index}`,
    InstanceType: index === 0 ? 'ml.g5.xlarge' : 'ml.c5.xlarge',
    InstanceCount,
  })),
});

export const channel = (
  ChannelName: string,
  more: object = {},
): NonNullable<CreateTrainingJobRequest['InputDataConfig']>[number] => ({
  ChannelName,
  DataSource: { S3DataSource: { S3DataType: 'S3Prefix', S3Uri: 's3://bucket/data/', ...more } },
});

export const newRecord = (more: Partial<JobRecord> = {}): JobRecord => ({
  name: 'a-job',
  arn: 'arn:aws:sagemaker:us-east-1:123456789012:training-job/a-job',
  request: plainRequest(),
  tags: {},
  createdAt: 1_000_000,
  modifiedAt: 1_000_000,
  status: 'InProgress',
  secondaryStatus: 'Starting',
  transitions: [],
  trainingSeconds: 0,
  billableSeconds: 0,
  metrics: [],
  ...more,
});
