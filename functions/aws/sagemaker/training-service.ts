/** The TrainingService port on SageMaker. */
import {
  CreateTrainingJobCommand,
  DescribeTrainingJobCommand,
  type DescribeTrainingJobResponse,
  type SageMakerClient,
  StopTrainingJobCommand,
} from '@aws-sdk/client-sagemaker';
import { isTerminal } from '../../launch/job/job-state.ts';
import type { CreateTrainingJobRequest } from '../../launch/job/request.ts';
import {
  type CreateOutcome,
  refusalOf,
  type StopOutcome,
  type TrainingJobDescription,
  type TrainingService,
} from '../../launch/job/training-service.ts';
import { awsErrorClass } from '../../records/aws-error-class.ts';
import { withRemedy } from '../../records/aws-error-table.ts';
import { describeError, isAnswer, rethrow } from '../shared/aws-errors.ts';

export function makeTrainingService(client: SageMakerClient): TrainingService {
  return {
    create: (request) => create(client, request),
    describe: (jobName) => describeJob(client, jobName),
    stop: (jobName) => stop(client, jobName),
  };
}

async function create(client: SageMakerClient, request: CreateTrainingJobRequest): Promise<CreateOutcome> {
  try {
    const { TrainingJobArn } = await client.send(new CreateTrainingJobCommand(request));
    return { kind: 'created', arn: TrainingJobArn ?? '' };
  } catch (error) {
    return createFailure(error);
  }
}

/** Every expected failure of a creation is a value. */
function createFailure(error: unknown): CreateOutcome {
  const kind = awsErrorClass(error);
  if (kind === 'conflict') return { kind: 'alreadyExists' };
  if (kind === 'unknown' && !isAnswer(error)) throw error;
  const message = describeError(error);
  return refusalOf(kind, error instanceof Error ? withRemedy(error.name, message) : message);
}

async function describeJob(
  client: SageMakerClient,
  jobName: string,
): Promise<TrainingJobDescription | undefined> {
  const answer = await descriptionOf(client, jobName);
  return answer === undefined ? undefined : toDescription(jobName, answer);
}

/** @returns undefined when there is no such job */
export async function descriptionOf(
  client: SageMakerClient,
  jobName: string,
): Promise<DescribeTrainingJobResponse | undefined> {
  try {
    return await client.send(new DescribeTrainingJobCommand({ TrainingJobName: jobName }));
  } catch (error) {
    if (isMissing(error)) return undefined;
    return rethrow(`describe training job ${jobName}`, error);
  }
}

async function stop(client: SageMakerClient, jobName: string): Promise<StopOutcome> {
  try {
    await client.send(new StopTrainingJobCommand({ TrainingJobName: jobName }));
    return 'stopping';
  } catch (error) {
    if (isMissing(error)) return 'notFound';
    if (awsErrorClass(error) !== 'validation') return rethrow(`stop training job ${jobName}`, error);
    return stopRefused(client, jobName, error);
  }
}

/** A stop of an ended job fails with a ValidationException. The job's status tells whether that is the reason. */
async function stopRefused(client: SageMakerClient, jobName: string, error: unknown): Promise<StopOutcome> {
  const job = await describeJob(client, jobName);
  if (job === undefined) return 'notFound';
  if (isTerminal(job)) return 'alreadyEnded';
  if (job.TrainingJobStatus === 'Stopping') return 'stopping';
  throw error;
}

/**
 * The API's model has ResourceNotFound, but DescribeTrainingJob answers an unknown name with a ValidationException
 * "Requested resource not found.". Only the text distinguishes it from an invalid name.
 */
function isMissing(error: unknown): boolean {
  const kind = awsErrorClass(error);
  return (
    kind === 'notFound' ||
    (kind === 'validation' && error instanceof Error && /resource not found/i.test(error.message))
  );
}

function toDescription(jobName: string, job: DescribeTrainingJobResponse): TrainingJobDescription {
  return {
    TrainingJobName: job.TrainingJobName ?? jobName,
    TrainingJobStatus: job.TrainingJobStatus ?? 'unknown',
    SecondaryStatus: job.SecondaryStatus ?? 'unknown',
    FailureReason: job.FailureReason,
    EnableManagedSpotTraining: job.EnableManagedSpotTraining,
    selectedType: job.ResourceConfig?.SelectedInstanceType?.replace(/^ml\./, ''),
    CreationTime: job.CreationTime ?? new Date(0),
    TrainingStartTime: job.TrainingStartTime,
    TrainingEndTime: job.TrainingEndTime,
    TrainingTimeInSeconds: job.TrainingTimeInSeconds,
    BillableTimeInSeconds: job.BillableTimeInSeconds,
    SecondaryStatusTransitions: (job.SecondaryStatusTransitions ?? []).map((transition) => ({
      Status: transition.Status ?? 'unknown',
      StartTime: transition.StartTime ?? new Date(0),
      EndTime: transition.EndTime,
      StatusMessage: transition.StatusMessage,
    })),
    ModelArtifacts: job.ModelArtifacts,
  };
}
