import { createRequire } from 'node:module';
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  GetBucketEncryptionCommand,
  GetBucketNotificationConfigurationCommand,
  GetBucketPolicyCommand,
  HeadBucketCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';

const adoption: {
  adoptionProblems(
    config: unknown,
    chosen: { bucket?: string; table?: string; kmsKey?: string },
    account: string,
  ): Promise<string[]>;
} = createRequire(import.meta.url)('../../../serverless/adoption.cjs');
const s3 = mockClient(S3Client);
const dynamo = mockClient(DynamoDBClient);
const ACCOUNT = '123456789012';
const problems = (over: { kmsKey?: string } = {}) =>
  adoption.adoptionProblems({ region: 'us-east-1' }, { bucket: 'lake', table: 'records', ...over }, ACCOUNT);

const INDEXES = [{ IndexName: 'open' }, { IndexName: 'list' }, { IndexName: 'begun' }];
const KEYS = [
  { AttributeName: 'pk', KeyType: 'HASH' as const },
  { AttributeName: 'sk', KeyType: 'RANGE' as const },
];
const describeTable = (GlobalSecondaryIndexes: typeof INDEXES) =>
  dynamo.on(DescribeTableCommand).resolves({ Table: { KeySchema: KEYS, GlobalSecondaryIndexes } });

beforeEach(() => {
  s3.reset();
  dynamo.reset();
  s3.on(HeadBucketCommand).resolves({ BucketRegion: 'us-east-1' });
  s3.on(GetBucketEncryptionCommand).resolves({});
  s3.on(GetBucketPolicyCommand).rejects(new Error('NoSuchBucketPolicy'));
  s3.on(GetBucketNotificationConfigurationCommand).resolves({ EventBridgeConfiguration: {} });
  describeTable(INDEXES);
});

describe('a bucket and a table that exist', () => {
  it('are taken when they fit', async () => {
    expect(await problems()).toEqual([]);
  });

  it('are refused in another region', async () => {
    s3.on(HeadBucketCommand).resolves({ BucketRegion: 'eu-west-1' });
    expect(await problems()).toEqual([expect.stringContaining('deploy there, with --region eu-west-1')]);
  });

  it('are refused without events to EventBridge', async () => {
    const Events: never[] = [];
    const QueueArn = 'arn:aws:sqs:us-east-1:123456789012:their-queue';
    s3.on(GetBucketNotificationConfigurationCommand).resolves({
      QueueConfigurations: [{ QueueArn, Events }],
    });
    expect(await problems()).toEqual([expect.stringContaining('switch it on in the console')]);
  });

  it.each(['arn:aws:sqs:us-east-1:123456789012:tidewheel-prod-ArrivalsQueue-1ABC', undefined])(
    'get the command after a removal (%s)',
    async (QueueArn) => {
      const QueueConfigurations = QueueArn === undefined ? [] : [{ QueueArn, Events: [] }];
      s3.on(GetBucketNotificationConfigurationCommand).resolves({ QueueConfigurations });
      expect(await problems()).toEqual([
        expect.stringContaining(
          `run aws s3api put-bucket-notification-configuration --bucket lake --notification-configuration '{"EventBridgeConfiguration":{}}'`,
        ),
      ]);
    },
  );

  it('are refused without a bucket', async () => {
    s3.on(HeadBucketCommand).rejects(new Error('NotFound'));
    expect(await problems()).toEqual([expect.stringContaining('lake cannot be used')]);
  });

  it('are refused when the policy demands signed payloads', async () => {
    const condition = { StringEquals: { 's3:x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } };
    s3.on(GetBucketPolicyCommand).resolves({ Policy: JSON.stringify({ Condition: condition }) });
    expect(await problems()).toEqual([expect.stringContaining('Remove the condition')]);
  });

  it.each([
    ['StringNotEquals', 'aws:kms', 1],
    ['StringNotEqualsIfExists', 'aws:kms', 1],
    ['Null', 'true', 1],
    ['Null', 'false', 0],
    ['StringEquals', 'AES256', 0],
  ])('meet a policy that denies by %s %s', async (operator, value, count) => {
    const Condition = { [operator]: { 's3:x-amz-server-side-encryption': value } };
    const Statement = [{ Effect: 'Deny', Principal: '*', Action: 's3:PutObject', Condition }];
    s3.on(GetBucketPolicyCommand).resolves({ Policy: JSON.stringify({ Statement }) });
    expect(await problems()).toHaveLength(count);
  });

  const ARN = `arn:aws:kms:us-east-1:${ACCOUNT}:key/0a1b-2c3d`;
  it.each([
    [ARN, undefined, 1],
    [ARN, ARN, 0],
    ['0a1b-2c3d', ARN, 0],
    [ARN, `${ARN}9`, 1],
    [`arn:aws:kms:us-east-1:${ACCOUNT}:alias/lake`, undefined, 1],
    [`arn:aws:kms:us-east-1:${ACCOUNT}:alias/lake`, ARN, 0],
    [`arn:aws:kms:us-east-1:${ACCOUNT}:alias/aws/s3`, undefined, 0],
    [undefined, undefined, 0],
  ])('need kmsKey: a bucket with %s, deployed with %s', async (KMSMasterKeyID, kmsKey, count) => {
    const byDefault = { SSEAlgorithm: 'aws:kms' as const, ...(KMSMasterKeyID && { KMSMasterKeyID }) };
    s3.on(GetBucketEncryptionCommand).resolves({
      ServerSideEncryptionConfiguration: { Rules: [{ ApplyServerSideEncryptionByDefault: byDefault }] },
    });
    expect(await problems(kmsKey === undefined ? {} : { kmsKey })).toHaveLength(count);
  });

  it('belong to the account of the stack', async () => {
    await problems();
    const [head] = s3.commandCalls(HeadBucketCommand);
    expect(head?.args[0].input).toEqual({ Bucket: 'lake', ExpectedBucketOwner: ACCOUNT });
  });

  it('are refused when the table lacks an index', async () => {
    describeTable(INDEXES.slice(1));
    expect(await problems()).toEqual([expect.stringMatching(/has no index open.*update-table/)]);
    describeTable([]);
    expect(await problems()).toEqual([expect.stringContaining("is none of Tidewheel's")]);
  });

  it('are refused when they are missing', async () => {
    dynamo.on(DescribeTableCommand).rejects(new Error('Requested resource not found'));
    s3.on(HeadBucketCommand).rejects(new Error('NotFound'));
    expect(await problems()).toHaveLength(2);
  });
});
