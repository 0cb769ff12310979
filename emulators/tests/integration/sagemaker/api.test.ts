import { CloudWatchClient, GetMetricStatisticsCommand, ListMetricsCommand } from '@aws-sdk/client-cloudwatch';
import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import {
  CreateTrainingJobCommand,
  DescribeTrainingJobCommand,
  ResourceInUse,
  ResourceLimitExceeded,
} from '@aws-sdk/client-sagemaker';
import { beforeAll, expect, test } from 'vitest';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { channelOf, type Ground, jobRequest, layGround } from '../../../../test/support/local-sagemaker.ts';
import { signedFetch } from '../../../../test/support/signed-fetch.ts';

const emulator = emulatorOfSuite();
let ground: Ground;

beforeAll(async () => {
  ground = await layGround(emulator.url, {
    instanceQuota: (type, market) => (type === 'p5.48xlarge' && market === 'spot' ? 1 : 100),
    longestRunSeconds: 432_000,
  });
  return () => ground.close();
});

test('of ten simultaneous creations exactly one succeeds', async () => {
  await ground.put('code/raced/main.py', 'pass');
  const command = new CreateTrainingJobCommand(jobRequest(ground.bucket, 'raced'));
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => ground.sageMaker.send(command)));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  await expect(ground.sageMaker.send(command)).rejects.toBeInstanceOf(ResourceInUse);
  await ground.ended('raced');
});

test('what SageMaker refuses is refused with its error names', async () => {
  const name = 'refused';
  await ground.put(`code/${name}/main.py`, 'pass');
  const refusal = async (more: Parameters<typeof jobRequest>[2]): Promise<Error> => {
    const answer = await ground.sageMaker
      .send(new CreateTrainingJobCommand(jobRequest(ground.bucket, name, more)))
      .catch((error: unknown) => error);
    if (!(answer instanceof Error)) throw new Error('it was not refused');
    return answer;
  };
  expect(await refusal({ RoleArn: 'me', StoppingCondition: { MaxRuntimeInSeconds: 0 } })).toMatchObject({
    name: 'ValidationException',
    message: expect.stringMatching(/^3 validation errors detected: /) as string,
  });
  expect(
    await refusal({ InputDataConfig: [channelOf('none', `s3://${ground.bucket}/nothing/`)] }),
  ).toMatchObject({
    name: 'ValidationException',
    message: expect.stringContaining('No S3 objects found under S3 URL') as string,
  });
  expect(
    await refusal({ InputDataConfig: [channelOf('none', 's3://no-such-bucket-at-all/x')] }),
  ).toMatchObject({
    message: expect.stringContaining('No S3 objects found under S3 URL') as string,
  });
  expect(await refusal({ VpcConfig: { SecurityGroupIds: ['sg-1'], Subnets: ['other-1'] } })).toMatchObject({
    name: 'ValidationException',
    message: 'The subnets [other-1] do not exist',
  });
  const tooMany = await refusal({
    EnableManagedSpotTraining: true,
    StoppingCondition: { MaxRuntimeInSeconds: 1, MaxWaitTimeInSeconds: 1 },
    ResourceConfig: { InstanceType: 'ml.p5.48xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
  });
  expect(tooMany).toBeInstanceOf(ResourceLimitExceeded);
  expect(tooMany.message).toContain("'ml.p5.48xlarge for spot training job usage' is 1 Instances");
  const tooLong = await refusal({ StoppingCondition: { MaxRuntimeInSeconds: 432_001 } });
  expect(tooLong).toBeInstanceOf(ResourceLimitExceeded);
  expect(tooLong.message).toContain("'Longest run time for a training job' is 432000 Seconds");
  await expect(ground.describe(name)).rejects.toThrow('Requested resource not found.');
});

test('the zone comes from the subnets of the request', async () => {
  const name = await ground.create({
    script: 'pass',
    VpcConfig: { SecurityGroupIds: ['sg-1'], Subnets: ['subnet-2', 'subnet-3'] },
  });
  await ground.ended(name);
  expect(ground.market.requests.find(({ owner }) => owner === name)).toEqual({
    owner: name,
    groups: [{ instanceType: 'c5.xlarge', count: 1 }],
    zoneIds: ['use1-az2', 'use1-az3'],
    purchaseOption: 'on-demand',
  });
});

test('every status change is an event', async () => {
  const events = new EventBridgeClient(clientConfiguration(emulator.url));
  const { QueueUrl } = await askQueue('CreateQueue', { QueueName: 'training-events' });
  const pattern = { source: ['aws.sagemaker'], 'detail-type': ['SageMaker Training Job State Change'] };
  await events.send(new PutRuleCommand({ Name: 'training', EventPattern: JSON.stringify(pattern) }));
  const Arn = 'arn:aws:sqs:us-east-1:000000000000:training-events';
  await events.send(new PutTargetsCommand({ Rule: 'training', Targets: [{ Id: 'queue', Arn }] }));
  const name = await ground.create({ script: 'pass', Tags: [{ Key: 'project', Value: 'p' }] });
  const job = await ground.ended(name);
  const seen: TrainingEvent[] = [];
  await untilTrue(async () => {
    const { Messages } = await askQueue('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 });
    seen.push(...(Messages ?? []).map(({ Body }) => JSON.parse(Body) as TrainingEvent));
    return seen.some(({ detail }) => detail['TrainingJobStatus'] === 'Completed');
  });
  expect(seen.map(({ detail }) => detail['SecondaryStatus'])).toEqual([
    'Starting',
    'Downloading',
    'Training',
    'Uploading',
    'Completed',
  ]);
  expect(seen.at(-1)).toMatchObject({
    source: 'aws.sagemaker',
    resources: [job.TrainingJobArn],
    detail: {
      TrainingJobName: name,
      TrainingJobArn: job.TrainingJobArn,
      CreationTime: job.CreationTime?.getTime(),
      TrainingEndTime: job.TrainingEndTime?.getTime(),
      FailureReason: null,
      Tags: { project: 'p' },
    },
  });
});

interface TrainingEvent {
  readonly source: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

interface QueueAnswer {
  readonly QueueUrl?: string;
  readonly Messages?: readonly { readonly Body: string }[];
}

/** SQS in its JSON protocol: two calls are not worth a client. */
async function askQueue(operation: string, body: object): Promise<QueueAnswer> {
  const answer = await signedFetch(emulator.url, {
    service: 'sqs',
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `AmazonSQS.${operation}`,
    },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as QueueAnswer;
}

async function untilTrue(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`it never became true\n${ground.lines.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test('metrics of jobs and hosts are in CloudWatch', async () => {
  const metrics = new CloudWatchClient(clientConfiguration(emulator.url));
  const name = await ground.create({
    script: `
import time
print('accuracy=0.75', flush=True)
end = time.monotonic() + 5
while time.monotonic() < end:
    sum(range(10000))
`,
    AlgorithmSpecification: {
      TrainingImage: 'image',
      TrainingInputMode: 'File',
      MetricDefinitions: [{ Name: 'accuracy', Regex: 'accuracy=([0-9.]+)' }],
    },
  });
  await ground.ended(name);
  const Namespace = '/aws/sagemaker/TrainingJobs';
  const { Metrics } = await metrics.send(new ListMetricsCommand({ Namespace }));
  const known = Metrics?.map(
    ({ MetricName, Dimensions }) =>
      `${MetricName ?? ''} ${Dimensions?.[0]?.Name ?? ''}=${Dimensions?.[0]?.Value ?? ''}`,
  );
  expect(known).toEqual(
    expect.arrayContaining([
      `accuracy TrainingJobName=${name}`,
      `CPUUtilization Host=${name}/algo-1`,
      `MemoryUtilization Host=${name}/algo-1`,
    ]),
  );
  const { Datapoints } = await metrics.send(
    new GetMetricStatisticsCommand({
      Namespace,
      MetricName: 'CPUUtilization',
      Dimensions: [{ Name: 'Host', Value: `${name}/algo-1` }],
      StartTime: new Date(Date.now() - 600_000),
      EndTime: new Date(Date.now() + 60_000),
      Period: 60,
      Statistics: ['Maximum'],
    }),
  );
  expect(Math.max(...(Datapoints ?? []).map(({ Maximum }) => Maximum ?? 0))).toBeGreaterThan(10);
});

test('broken bodies and unknown operations are turned away', async () => {
  const ask = async (operation: string, body = '{}'): Promise<string> => {
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `SageMaker.${operation}`,
    };
    const answer = await signedFetch(ground.url, { service: 'sagemaker', method: 'POST', headers, body });
    return answer.text();
  };
  expect(await ask('ListTrainingJobs')).toContain('TrainingJobSummaries');
  expect(await ask('ListTrainingJobs', '{')).toContain('SerializationException');
  expect(await ask('CreateEndpoint')).toContain('UnknownOperationException');
  expect(await ask('toString')).toContain('UnknownOperationException');
  await expect(
    ground.sageMaker.send(new DescribeTrainingJobCommand({ TrainingJobName: 'no-such-job' })),
  ).rejects.toMatchObject({ name: 'ValidationException' });
});
