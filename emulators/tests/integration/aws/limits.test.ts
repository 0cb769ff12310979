/** Limits of an account, small enough to be reached in seconds. */

import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import {
  IllegalArgumentException,
  InvalidPaginationTokenException,
  ListAWSDefaultServiceQuotasCommand,
  ListServiceQuotasCommand,
  NoSuchResourceException,
  paginateListServiceQuotas,
  type ServiceQuota,
  ServiceQuotasClient,
} from '@aws-sdk/client-service-quotas';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  clientConfiguration,
  startTestEmulator,
  type TestEmulator,
} from '../../../../test/support/emulator.ts';
import { refusedSoFar } from '../../../limits/profiles.ts';
import { accountQuotas } from '../../../region/account-quotas.ts';
import { createFunction, invoke } from './lambda.ts';

const LATENCY_SECONDS = 0.1;
const READS = 5;

let emulator: TestEmulator;
let s3: S3Client;
let sfn: SFNClient;
let quotas: ServiceQuotasClient;

beforeAll(async () => {
  emulator = await startTestEmulator({
    concurrentExecutions: 2,
    limits: {
      s3: { latencySeconds: LATENCY_SECONDS, readsPerSecond: READS, writesPerSecond: 100 },
      dynamodbLatencySeconds: 0.009,
      payloadBytes: 1_000,
      historyEvents: 30,
    },
    serviceQuotas: accountQuotas('new-account', '000000000000'),
  });
  quotas = new ServiceQuotasClient(clientConfiguration(emulator.url));
  s3 = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true, maxAttempts: 1 });
  sfn = new SFNClient(clientConfiguration(emulator.url));
  await s3.send(new CreateBucketCommand({ Bucket: 'data' }));
  return () => emulator.stop();
});

const list = (Prefix: string) => s3.send(new ListObjectsV2Command({ Bucket: 'data', Prefix }));

describe('S3', () => {
  it('answers after its latency', async () => {
    const began = performance.now();
    await s3.send(new PutObjectCommand({ Bucket: 'data', Key: 'slow', Body: 'x' }));
    expect(performance.now() - began).toBeGreaterThan(LATENCY_SECONDS * 1_000);
  });

  it('refuses what is above the rate of a prefix', async () => {
    const results = await Promise.allSettled(Array.from({ length: 3 * READS }, () => list('hot/')));
    const refused = results.flatMap((result) =>
      result.status === 'rejected' ? [String(result.reason)] : [],
    );
    expect(refused.length).toBeGreaterThanOrEqual(READS);
    expect(new Set(refused)).toEqual(new Set(['SlowDown: Please reduce your request rate.']));
    await expect(list('cold/')).resolves.toMatchObject({ KeyCount: 0 });
    // Tokens come back.
    await sleep(300);
    await expect(list('hot/')).resolves.toMatchObject({ KeyCount: 0 });
    const { requests } = await refusedSoFar(emulator.url);
    expect(requests).toBe(refused.length);
  });
});

async function endOf(name: string, states: Readonly<Record<string, unknown>>) {
  const { stateMachineArn } = await sfn.send(
    new CreateStateMachineCommand({
      name,
      roleArn: 'arn:aws:iam::000000000000:role/none',
      definition: JSON.stringify({ StartAt: 'First', States: states }),
    }),
  );
  const { executionArn } = await sfn.send(new StartExecutionCommand({ stateMachineArn, input: '{}' }));
  let described = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  while (described.status === 'RUNNING') {
    await sleep(50);
    described = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  }
  return described;
}

describe('an execution', () => {
  it('fails when its history is full', async () => {
    const end = await endOf('endless', {
      First: { Type: 'Pass', Next: 'Again' },
      Again: { Type: 'Pass', Next: 'First' },
    });
    expect(end).toMatchObject({
      status: 'FAILED',
      error: 'States.Runtime',
      cause: 'The execution reached the maximum number of history events (30).',
    });
  });

  it('fails when a state returns too much', async () => {
    const Result = { text: 'x'.repeat(1_000) };
    const end = await endOf('large', { First: { Type: 'Pass', Result, End: true } });
    expect(end).toMatchObject({ status: 'FAILED', error: 'States.DataLimitExceeded' });
  });
});

describe('a function', () => {
  it('has the heap of its memory', async () => {
    const code = `import { getHeapStatistics } from 'node:v8';
      export const handler = async () => ({ megabytes: getHeapStatistics().heap_size_limit / 2 ** 20 });`;
    await createFunction(emulator.url, 'heap', code);
    const { megabytes } = await invoke(emulator.url, 'heap');
    // Lambda's default is 128 MB, nine tenths of them for old objects.
    expect(Number(megabytes)).toBeLessThan(200);
  });

  it('is counted where it is throttled', async () => {
    const code = `import { setTimeout as sleep } from 'node:timers/promises';
      export const handler = async () => { await sleep(1_500); return { held: true }; };`;
    await createFunction(emulator.url, 'slow', code);
    const answers = await Promise.all([1, 2, 3, 4].map(() => invoke(emulator.url, 'slow')));
    const throttled = answers.filter(({ held }) => held !== true).length;
    expect(throttled).toBeGreaterThan(0);
    expect((await refusedSoFar(emulator.url)).invocations).toBe(throttled);
  });
});

describe('Service Quotas', () => {
  const isNamed =
    (name: string) =>
    ({ QuotaName }: ServiceQuota) =>
      QuotaName === name;

  it('lists every quota of a service over pages', async () => {
    const found = [];
    const sizes = [];
    const pages = paginateListServiceQuotas({ client: quotas, pageSize: 40 }, { ServiceCode: 'sagemaker' });
    for await (const { Quotas = [] } of pages) {
      sizes.push(Quotas.length);
      found.push(...Quotas);
    }
    expect(new Set(sizes.slice(0, -1))).toEqual(new Set([40]));
    expect(new Set(found.map(({ QuotaCode }) => QuotaCode)).size).toBe(found.length);
    expect(found.find(isNamed('ml.g5.xlarge for spot training job usage'))).toMatchObject({
      ServiceCode: 'sagemaker',
      Value: 0,
      Adjustable: true,
      QuotaAppliedAtLevel: 'ACCOUNT',
      QuotaArn: expect.stringMatching(
        /^arn:aws:servicequotas:us-east-1:000000000000:sagemaker\/L-[0-9A-F]{8}$/,
      ),
    });
    expect(found.find(isNamed('Longest run time for a training job'))).toMatchObject({ Value: 432_000 });
  });

  it("tells an account's own value from AWS's", async () => {
    const ServiceCode = 'lambda';
    const own = await quotas.send(new ListServiceQuotasCommand({ ServiceCode }));
    expect(own.Quotas).toMatchObject([{ QuotaName: 'Concurrent executions', Value: 10 }]);
    const usual = await quotas.send(new ListAWSDefaultServiceQuotasCommand({ ServiceCode }));
    expect(usual.Quotas).toMatchObject([{ Value: 1_000 }]);
  });

  it("refuses with the model's errors", async () => {
    const list = (more: object) =>
      quotas.send(new ListServiceQuotasCommand({ ServiceCode: 'sagemaker', ...more }));
    await expect(list({ ServiceCode: 'nothing' })).rejects.toThrow(NoSuchResourceException);
    await expect(list({ MaxResults: 101 })).rejects.toThrow(IllegalArgumentException);
    const { NextToken } = await list({ MaxResults: 1 });
    await expect(list({ NextToken: 'bm90aGluZw==' })).rejects.toThrow(InvalidPaginationTokenException);
    // A token of another question.
    const elsewhere = new ListAWSDefaultServiceQuotasCommand({ ServiceCode: 'sagemaker', NextToken });
    await expect(quotas.send(elsewhere)).rejects.toThrow(InvalidPaginationTokenException);
  });
});
