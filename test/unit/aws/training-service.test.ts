import {
  CreateTrainingJobCommand,
  DescribeTrainingJobCommand,
  type DescribeTrainingJobResponse,
  ResourceInUse,
  ResourceLimitExceeded,
  ResourceNotFound,
  SageMakerClient,
  SageMakerServiceException,
  StopTrainingJobCommand,
} from '@aws-sdk/client-sagemaker';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeTrainingService } from '../../../functions/aws/sagemaker/training-service.ts';
import { buildTrainingJob } from '../../../functions/launch/sagemaker/training-job.ts';
import { launch } from '../../support/builders/launch.ts';

const sagemaker = mockClient(SageMakerClient);
const service = makeTrainingService(new SageMakerClient({ region: 'us-east-1' }));
const job = buildTrainingJob(launch());
if (job.kind !== 'request') throw new Error('the fixture is wrong');
const { request } = job;
const name = request.TrainingJobName;

const odd = (errorName: string, message = 'odd') =>
  new SageMakerServiceException({
    name: errorName,
    message,
    $fault: 'client',
    $metadata: { httpStatusCode: 400, requestId: 'r-1' },
  });
const modelled = { message: 'x', $metadata: {} };

/** What Describe always has, plus the rest of a case. */
const described = (over: Partial<DescribeTrainingJobResponse>): DescribeTrainingJobResponse => ({
  TrainingJobName: name,
  TrainingJobArn: `arn:aws:sagemaker:us-east-1:123456789012:training-job/${name}`,
  ModelArtifacts: { S3ModelArtifacts: 's3://b/m' },
  TrainingJobStatus: 'InProgress',
  SecondaryStatus: 'Training',
  AlgorithmSpecification: { TrainingInputMode: 'File' },
  ResourceConfig: {},
  StoppingCondition: {},
  CreationTime: new Date(0),
  ...over,
});

beforeEach(() => sagemaker.reset());

describe('creating a job', () => {
  it('sends the request as it was built', async () => {
    sagemaker.on(CreateTrainingJobCommand).resolves({ TrainingJobArn: 'arn:x' });
    expect(await service.create(request)).toEqual({ kind: 'created', arn: 'arn:x' });
    expect(sagemaker.commandCalls(CreateTrainingJobCommand)[0]?.args[0].input).toEqual(request);
  });

  it.each([
    [new ResourceInUse(modelled), 'alreadyExists'],
    [new ResourceLimitExceeded(modelled), 'quota'],
    [new ResourceNotFound(modelled), 'invalid'],
    [odd('ValidationException'), 'invalid'],
    [odd('AccessDeniedException'), 'denied'],
    [odd('ThrottlingException'), 'throttled'],
    [odd('ServiceUnavailable'), 'throttled'],
    [odd('ExpiredTokenException'), 'throttled'],
    [odd('BrandNewException'), 'unknown'],
    [Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }), 'throttled'],
  ])('answers %s with %s', async (error, kind) => {
    sagemaker.on(CreateTrainingJobCommand).rejects(error);
    expect(await service.create(request)).toMatchObject({ kind });
  });

  it('throws an error of its own code unchanged', async () => {
    const error = new TypeError('undefined is not a function');
    sagemaker.on(CreateTrainingJobCommand).rejects(error);
    await expect(service.create(request)).rejects.toBe(error);
  });

  it('names the request id for a support case', async () => {
    sagemaker.on(CreateTrainingJobCommand).rejects(odd('ValidationException', 'bad volume'));
    expect(await service.create(request)).toMatchObject({
      message: 'ValidationException: bad volume (request r-1)',
    });
  });
});

describe('looking at a job', () => {
  it('keeps absent times absent', async () => {
    sagemaker.on(DescribeTrainingJobCommand).resolves(described({ SecondaryStatus: 'Starting' }));
    expect(await service.describe(name)).toMatchObject({
      TrainingJobStatus: 'InProgress',
      SecondaryStatus: 'Starting',
      SecondaryStatusTransitions: [],
      TrainingStartTime: undefined,
      BillableTimeInSeconds: undefined,
    });
  });

  it.each([new ResourceNotFound(modelled), odd('ValidationException', 'Requested resource not found.')])(
    'finds no job when the answer is %s',
    async (error) => {
      sagemaker.on(DescribeTrainingJobCommand).rejects(error);
      expect(await service.describe(name)).toBeUndefined();
    },
  );

  it('throws a TransientError that keeps its cause when throttled', async () => {
    const cause = odd('ThrottlingException');
    sagemaker.on(DescribeTrainingJobCommand).rejects(cause);
    const thrown = await service.describe(name).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(TransientError);
    expect(thrown).toMatchObject({ cause });
  });

  it('throws any refusal but an absent job', async () => {
    sagemaker
      .on(DescribeTrainingJobCommand)
      .rejects(odd('ValidationException', 'failed to satisfy constraint'));
    await expect(service.describe(name)).rejects.toThrow('failed to satisfy constraint');
  });
});

describe('stopping a job', () => {
  it('stops a job that runs', async () => {
    sagemaker.on(StopTrainingJobCommand).resolves({});
    expect(await service.stop(name)).toBe('stopping');
  });

  it.each([
    ['Completed', 'alreadyEnded'],
    ['Failed', 'alreadyEnded'],
    ['Stopped', 'alreadyEnded'],
    ['Stopping', 'stopping'],
  ] as const)('finds a job that is %s %s', async (TrainingJobStatus, expected) => {
    sagemaker
      .on(StopTrainingJobCommand)
      .rejects(odd('ValidationException', 'The request was rejected because'));
    sagemaker.on(DescribeTrainingJobCommand).resolves(described({ TrainingJobStatus }));
    expect(await service.stop(name)).toBe(expected);
  });

  it('says that there is no such job', async () => {
    sagemaker.on(StopTrainingJobCommand).rejects(new ResourceNotFound(modelled));
    expect(await service.stop(name)).toBe('notFound');
  });

  it('passes on an unexplained refusal', async () => {
    sagemaker.on(StopTrainingJobCommand).rejects(odd('ValidationException', 'bad name'));
    sagemaker.on(DescribeTrainingJobCommand).resolves(described({}));
    await expect(service.stop(name)).rejects.toThrow('bad name');
  });

  it('throws a TransientError when the service is away', async () => {
    sagemaker.on(StopTrainingJobCommand).rejects(odd('ServiceUnavailable'));
    await expect(service.stop(name)).rejects.toBeInstanceOf(TransientError);
  });
});
