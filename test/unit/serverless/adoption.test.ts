import { createRequire } from 'node:module';
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  GetBucketNotificationConfigurationCommand,
  GetBucketPolicyCommand,
  HeadBucketCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';

const adoption: {
  adoptionProblems(config: unknown, chosen: { bucket?: string; table?: string }): Promise<string[]>;
} = createRequire(import.meta.url)('../../../serverless/adoption.cjs');
const s3 = mockClient(S3Client);
const dynamo = mockClient(DynamoDBClient);
const problems = () =>
  adoption.adoptionProblems({ region: 'us-east-1' }, { bucket: 'lake', table: 'records' });

const INDEXES = [{ IndexName: 'open' }, { IndexName: 'list' }];
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
    s3.on(GetBucketNotificationConfigurationCommand).resolves({});
    expect(await problems()).toEqual([expect.stringContaining('switch it on in the console')]);
  });

  it('are refused when the policy demands signed payloads', async () => {
    const condition = { StringEquals: { 's3:x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } };
    s3.on(GetBucketPolicyCommand).resolves({ Policy: JSON.stringify({ Condition: condition }) });
    expect(await problems()).toEqual([expect.stringContaining('Remove the condition')]);
  });

  it('are refused when the table lacks an index', async () => {
    describeTable(INDEXES.slice(1));
    expect(await problems()).toEqual([expect.stringContaining('serverless/storage.yml')]);
  });

  it('are refused when they are missing', async () => {
    dynamo.on(DescribeTableCommand).rejects(new Error('Requested resource not found'));
    s3.on(HeadBucketCommand).rejects(new Error('NotFound'));
    expect(await problems()).toHaveLength(2);
  });
});
