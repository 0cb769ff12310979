import { createRequire } from 'node:module';
import { DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';

const removal: {
  removalProblem(config: unknown, stack: Readonly<Record<string, string>>): Promise<string | undefined>;
} = createRequire(import.meta.url)('../../../serverless/removal.cjs');
const dynamo = mockClient(DynamoDBClient);
const problem = () =>
  removal.removalProblem(
    { region: 'us-east-1' },
    {
      TableName: 'records',
      DataBucketName: 'lake',
      RunStateMachineArn: 'arn:aws:states:us-east-1:123456789012:stateMachine:tidewheel-dev-run',
      stage: 'dev',
      region: 'us-east-1',
    },
  );
const query = (kind: string) => ({ ExpressionAttributeValues: { ':kind': { S: kind } } });
const attempt = (jobName: string, launcher: string) => ({
  jobName: { S: jobName },
  launcher: { S: launcher },
  placement: { M: { pool: { M: {} } } },
});

beforeEach(() => {
  dynamo.reset();
  dynamo.on(QueryCommand).resolves({ Items: [] });
});

describe('the removal of a stack', () => {
  it('goes on when nothing is unfinished', async () => {
    expect(await problem()).toBeUndefined();
  });

  it('is refused with the commands that stop everything', async () => {
    const run = { runId: { S: 'digits-000001' }, execution: { N: '2' } };
    dynamo.on(QueryCommand, query('RUN')).resolves({ Items: [run] });
    const jobs = [attempt('digits-000001-a1-x', 'sagemaker'), attempt('digits-000001-a2-x', 'ec2')];
    dynamo.on(QueryCommand, query('ATTEMPT')).resolves({ Items: jobs });
    const text = await problem();
    for (const part of [
      '1 unfinished runs and 2 jobs',
      '--function-name tidewheel-dev-reconcile --reserved-concurrent-executions 0',
      'arn:aws:states:us-east-1:123456789012:execution:tidewheel-dev-run:digits-000001-x2',
      'stop-training-job --region us-east-1 --training-job-name digits-000001-a1-x',
      'Name=tag:tidewheel:job,Values=digits-000001-a2-x',
      '--param="bucket=lake" --param="table=records"',
    ])
      expect(text).toContain(part);
  });

  it('sees every page of the index', async () => {
    const run = { runId: { S: 'digits-000001' }, execution: { N: '1' } };
    dynamo
      .on(QueryCommand, query('RUN'))
      .resolvesOnce({ Items: [], LastEvaluatedKey: { pk: { S: 'a' } } })
      .resolves({ Items: [run] });
    expect(await problem()).toContain('digits-000001-x1');
  });
});
