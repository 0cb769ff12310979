/**
 * Finds all problems of a finished request before SageMaker refuses it: the limits of single fields and the rules between
 * fields. https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html
 */
import type { Problem } from '@tidewheel/kit/errors.ts';
import { MAXIMUM_HYPERPARAMETERS, MAXIMUM_VALUE } from '../job/hyperparameters.ts';
import { MAXIMUM_JOB_NAME } from '../job/job-name.ts';
import type { CreateTrainingJobRequest } from '../job/request.ts';

/** 28 days */
const MAXIMUM_RUNTIME_SECONDS = 2_419_200;
const MAXIMUM_URI = 1_024;
const MAXIMUM_CHANNELS = 20;
const MAXIMUM_GROUPS = 5;
const JOB_NAME = /^[a-zA-Z0-9](-*[a-zA-Z0-9])*$/;
const ROLE = /^arn:aws[a-z-]*:iam::\d{12}:role\/?[a-zA-Z_0-9+=,.@\-_/]+$/;

export function requestProblems(request: CreateTrainingJobRequest): Problem[] {
  return [
    ...nameProblems(request),
    ...hyperparameterProblems(request.HyperParameters),
    ...limitProblems(request),
    ...groupProblems(request),
    ...uriProblems(request),
  ];
}

function nameProblems({ TrainingJobName: name, RoleArn: role }: CreateTrainingJobRequest): Problem[] {
  const problems: Problem[] = [];
  if (name.length > MAXIMUM_JOB_NAME || !JOB_NAME.test(name)) {
    problems.push({
      path: 'name',
      message: `gives the training job name "${name}", which must have 1 to ${MAXIMUM_JOB_NAME} letters, digits and inner hyphens: choose a shorter name`,
    });
  }
  if (!ROLE.test(role))
    problems.push({
      path: 'roleArn',
      message: `"${role}" is not the ARN of an IAM role: use arn:aws:iam::ACCOUNT:role/NAME`,
    });
  return problems;
}

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

function limitProblems({
  StoppingCondition: limits,
  EnableManagedSpotTraining: spot,
}: CreateTrainingJobRequest): Problem[] {
  const { MaxRuntimeInSeconds: run, MaxWaitTimeInSeconds: wait } = limits;
  const problems: Problem[] = [];
  if (!Number.isInteger(run) || run < 1 || run > MAXIMUM_RUNTIME_SECONDS) {
    problems.push({
      path: 'limits.maximumRunSeconds',
      message: `${run} is outside SageMaker's limits: use a whole number from 1 to ${MAXIMUM_RUNTIME_SECONDS}`,
    });
  }
  if (!spot && wait !== undefined) {
    problems.push({
      path: 'placement.maximumWaitSeconds',
      message: 'is for Spot only: remove it on demand',
    });
  }
  if (spot && (wait === undefined || !Number.isInteger(wait) || wait < run)) {
    const message = `${wait ?? 'nothing'} does not cover the run time of ${run}: on Spot it must include the wait and the run`;
    problems.push({ path: 'placement.maximumWaitSeconds', message });
  }
  return problems;
}

/** With several groups there is no job-wide type, names are unique, and all channels name their groups or none does. */
function groupProblems({
  ResourceConfig: resources,
  InputDataConfig: channels,
}: CreateTrainingJobRequest): Problem[] {
  const problems: Problem[] = [];
  const groups = resources.InstanceGroups;
  if (
    groups !== undefined &&
    (resources.InstanceType !== undefined || resources.InstanceCount !== undefined)
  ) {
    problems.push({
      path: 'compute.groups',
      message: 'exclude one instance type for the whole job: remove one of the two',
    });
  }
  const names = new Set(groups?.map((group) => group.InstanceGroupName));
  if (groups !== undefined && (groups.length > MAXIMUM_GROUPS || names.size !== groups.length)) {
    problems.push({
      path: 'compute.groups',
      message: `must be at most ${MAXIMUM_GROUPS} with unique names: remove or rename groups`,
    });
  }
  const inS3 = channels.flatMap(({ DataSource: { S3DataSource } }) => S3DataSource ?? []);
  const assigned = inS3.map(({ InstanceGroupNames }) => InstanceGroupNames);
  const some = assigned.some((list) => list !== undefined);
  if (some && assigned.some((list) => list === undefined)) {
    problems.push({ path: 'compute.groups', message: 'must be named by all channels of the job or by none' });
  }
  if (assigned.some((list) => list?.some((name) => !names.has(name)))) {
    problems.push({ path: 'compute.groups', message: 'a channel names a group that the job does not have' });
  }
  if (channels.length > MAXIMUM_CHANNELS)
    problems.push({
      path: 'channels',
      message: `are ${channels.length}, and SageMaker's limit is ${MAXIMUM_CHANNELS}: remove channels`,
    });
  return problems;
}

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
