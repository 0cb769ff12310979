/**
 * What a declaration may ask for and SageMaker refuses, found in the finished request. The rules of the other fields hold for
 * every request that is built. https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html
 */
import type { Problem } from '@tidewheel/kit/errors.ts';
import { MAXIMUM_HYPERPARAMETERS, MAXIMUM_VALUE } from '../job/hyperparameters.ts';
import type { CreateTrainingJobRequest } from '../job/request.ts';

const MAXIMUM_URI = 1_024;
const MAXIMUM_CHANNELS = 20;

export const requestProblems = (request: CreateTrainingJobRequest): Problem[] => [
  ...hyperparameterProblems(request.HyperParameters),
  ...channelProblems(request),
  ...uriProblems(request),
];

function hyperparameterProblems(values: Record<string, string>): Problem[] {
  const path = 'training.hyperparameters';
  const problems = Object.entries(values)
    .filter(([, value]) => value.length > MAXIMUM_VALUE)
    .map(([key, value]) => ({
      path: `${path}.${key}`,
      message: `has ${value.length} characters as JSON in ASCII, and SageMaker's limit is ${MAXIMUM_VALUE}: put long values into a file of the source`,
    }));
  const count = Object.keys(values).length;
  if (count <= MAXIMUM_HYPERPARAMETERS) return problems;
  const message = `are ${count} with those that Tidewheel adds, and SageMaker's limit is ${MAXIMUM_HYPERPARAMETERS}: remove ${count - MAXIMUM_HYPERPARAMETERS}`;
  return [...problems, { path, message }];
}

const channelProblems = ({ InputDataConfig: { length } }: CreateTrainingJobRequest): Problem[] =>
  length <= MAXIMUM_CHANNELS
    ? []
    : [
        {
          path: 'channels',
          message: `are ${length}, and SageMaker's limit is ${MAXIMUM_CHANNELS}: remove channels`,
        },
      ];

function uriProblems(request: CreateTrainingJobRequest): Problem[] {
  const uris: [string, string][] = [
    ['checkpoints', request.CheckpointConfig.S3Uri],
    ['models', request.OutputDataConfig.S3OutputPath],
    ...request.InputDataConfig.map((channel): [string, string] => [
      channel.ChannelName === 'code' ? 'training.source' : `channel ${channel.ChannelName}`,
      channel.DataSource.S3DataSource?.S3Uri ?? '',
    ]),
  ];
  return uris
    .filter(([, uri]) => uri.length > MAXIMUM_URI)
    .map(([path, uri]) => ({
      path,
      message: `has ${uri.length} characters, and SageMaker's limit is ${MAXIMUM_URI}: use a shorter prefix`,
    }));
}
