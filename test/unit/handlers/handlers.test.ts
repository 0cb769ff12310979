/** What a module exports is the wrapped handler: it refuses a wrong event by name, and AWS's passing troubles leave as one class. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import {
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type MemoryS3, startMemoryS3 } from '../../support/memory-s3/memory-s3.ts';
import { created } from '../../support/world/ground.ts';
import { context } from './context.ts';

type Handler = (event: unknown, context: ReturnType<typeof contextOf>) => Promise<unknown>;
const contextOf = context;

const FUNCTIONS = path.join(import.meta.dirname, '../../../functions/handlers');
const names = readdirSync(FUNCTIONS, { withFileTypes: true })
  .filter(
    (entry) => entry.isDirectory() && readdirSync(path.join(FUNCTIONS, entry.name)).includes('handler.ts'),
  )
  .map(({ name }) => name);

const load = async (name: string): Promise<Handler> => {
  const module = (await import(`../../../functions/handlers/${name}/handler.ts`)) as { handler: Handler };
  return module.handler;
};

/** An event of the right shape for each function whose input is checked. */
const RUN = { runId: 'digits-000001', pipeline: 'digits' };
const EVENTS: Readonly<Record<string, unknown>> = {
  settle: RUN,
  'plan-shards': RUN,
  'seal-dataset': { ...RUN, round: 1 },
  'delete-packed': RUN,
  'plan-compaction': RUN,
  'seal-compaction': { ...RUN, generation: 'digits-000001-0a1b2c3d' },
  'abandon-compaction': { ...RUN, error: { Error: 'TransientError', Cause: '' } },
  place: RUN,
  judge: RUN,
  diagnose: RUN,
  'start-next-execution': { ...RUN, execution: 'digits-000001-x1' },
  report: RUN,
  launch: { ...RUN, attempt: 1, taskToken: 'token' },
  reconcile: { sweep: false },
  api: { routeKey: 'GET /pipelines' },
};

const dynamo = mockClient(DynamoDBDocumentClient);
const sfn = mockClient(SFNClient);
let emptyBucket: MemoryS3;

beforeAll(async () => {
  emptyBucket = await startMemoryS3();
});
afterAll(() => emptyBucket.stop());

beforeEach(() => {
  for (const each of [dynamo, sfn]) each.reset();
  vi.stubEnv('AWS_ENDPOINT_URL_S3', emptyBucket.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  vi.stubEnv('LAMBDA_TASK_ROOT', '/var/task');
  vi.stubEnv('TIDEWHEEL_BUCKET', 'tidewheel-data');
  vi.stubEnv('TIDEWHEEL_PACKERS', '100');
  vi.stubEnv('TIDEWHEEL_TABLE', 'tidewheel-table');
  vi.stubEnv('TIDEWHEEL_EVENT_BUS', 'default');
  vi.stubEnv('TIDEWHEEL_STATE_MACHINE_ARN', 'arn:aws:states:us-east-1:123456789012:stateMachine:run');
  vi.stubEnv('TIDEWHEEL_ACCOUNT', '123456789012');
  vi.stubEnv('TIDEWHEEL_TRAINING_POLICY_ARN', 'arn:aws:iam::123456789012:policy/training');
  vi.stubEnv('TIDEWHEEL_TRAINING_ROLE_PATH', '/training/');
  vi.stubEnv('TIDEWHEEL_HOST_POLICY_ARN', 'arn:aws:iam::123456789012:policy/hosts');
  vi.stubEnv('TIDEWHEEL_HOST_ROLE_PATH', '/hosts/');
  vi.stubEnv('TIDEWHEEL_HOST_LOG_GROUP', '/tidewheel/dev/hosts');
  vi.stubEnv('TIDEWHEEL_OPERATORS', 'groups=ml');
  vi.stubEnv('TIDEWHEEL_VIEWERS', '');
  vi.stubEnv('TIDEWHEEL_SCHEDULE_GROUP', 'group');
  vi.stubEnv('TIDEWHEEL_NOTIFIED_MARKER', '');
  vi.stubEnv('TIDEWHEEL_SCHEDULE_ROLE_ARN', 'arn:aws:iam::123456789012:role/schedules');
  vi.stubEnv('TIDEWHEEL_ARRIVALS_QUEUE_ARN', 'arn:aws:sqs:us-east-1:123456789012:arrivals');
  // The logs of fifty refusals would hide a failure.
  vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
  vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');
  vi.stubEnv('POWERTOOLS_DEV', 'true');
  for (const method of ['log', 'warn', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation(() => {});
  }
});

const throttled = Object.assign(new Error('Rate exceeded'), {
  name: 'ProvisionedThroughputExceededException',
  $metadata: { httpStatusCode: 400, requestId: 'abc' },
});
const denied = Object.assign(new Error('not allowed'), {
  name: 'AccessDeniedException',
  $metadata: { httpStatusCode: 400 },
});

const failDynamo = (error: Error) => {
  dynamo.on(GetCommand).rejects(error);
  dynamo.on(PutCommand).rejects(error);
  dynamo.on(QueryCommand).rejects(error);
  dynamo.on(UpdateCommand).rejects(error);
};

describe.each(names)('the handler of %s', (name) => {
  it.each([['a text'], [7], [[]]])('refuses %j as an InvalidInputError', async (event) => {
    const handler = await load(name);
    await expect(handler(event, contextOf(name))).rejects.toMatchObject({
      name: 'InvalidInputError',
      message: expect.stringContaining(name) as string,
    });
  });
});

describe('an event of the wrong shape', () => {
  it('has every problem named with its path', async () => {
    const handler = await load('launch');
    const event = { runId: 7, attempt: 0, taskToken: '' };
    await expect(handler(event, contextOf('launch'))).rejects.toMatchObject({
      problems: [{ path: 'runId' }, { path: 'attempt' }, { path: 'taskToken' }],
    });
  });

  it.each(['on-arrival', 'on-training-event', 'on-spot-warning'])(
    'is no empty batch for %s',
    async (name) => {
      const handler = await load(name);
      const event = { Records: [{ messageId: 'm1' }, { body: 'x' }] };
      await expect(handler(event, contextOf(name))).rejects.toMatchObject({
        problems: [{ path: 'Records[0].body' }, { path: 'Records[1].messageId' }],
      });
    },
  );
});

describe.each(Object.entries(EVENTS))('a trouble of AWS in %s', (name, event) => {
  it('that will not pass keeps its name', async () => {
    failDynamo(denied);
    const handler = await load(name);
    await expect(handler(event, contextOf(name))).rejects.toMatchObject({ name: 'AccessDeniedException' });
  });
});

/** The API answers its caller instead. */
const RETRIED = Object.entries(EVENTS).filter(([name]) => name !== 'api');

it.each(RETRIED)('a throttle in %s leaves as a TransientError', async (name, event) => {
  failDynamo(throttled);
  const handler = await load(name);
  await expect(handler(event, contextOf(name))).rejects.toMatchObject({
    name: 'TransientError',
    cause: { name: 'ProvisionedThroughputExceededException' },
  });
});

describe('on-arrival', () => {
  const records = (...bodies: string[]) => ({
    Records: bodies.map((body, index) => ({ messageId: `m${index}`, body, receiptHandle: 'r' })),
  });

  const RECORD = { version: 1, name: 'digits', openBatch: 1, valid: true };

  it('gives back only the messages that failed', async () => {
    dynamo.on(GetCommand).callsFake((input: { Key: { pk: string } }) => {
      if (input.Key.pk === 'PIPELINE#broken') throw throttled;
      return { Item: { ...RECORD, updatedAt: '2026-11-20T00:00:00Z' } };
    });
    dynamo.on(PutCommand).resolves({});
    sfn.on(StartExecutionCommand).resolves({});
    const handler = await load('on-arrival');
    const event = records(
      created('broken/incoming/x', '2026-11-20T00:00:00Z'),
      'rubbish',
      created('digits/incoming/x', '2026-11-20T00:00:00Z'),
    );
    expect(await handler(event, contextOf('on-arrival'))).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm0' }, { itemIdentifier: 'm1' }],
    });
    expect(sfn.commandCalls(StartExecutionCommand)[0]?.args[0].input).toMatchObject({
      name: 'digits-000001-x1',
    });
  });

  it('returns an empty list when all is well', async () => {
    dynamo.on(GetCommand).resolves({ Item: { ...RECORD, updatedAt: '' } });
    dynamo.on(PutCommand).resolves({});
    sfn.on(StartExecutionCommand).rejects(new ExecutionAlreadyExists({ message: 'there', $metadata: {} }));
    sfn.on(DescribeExecutionCommand).resolves({ status: 'RUNNING' });
    const handler = await load('on-arrival');
    const event = records(created('digits/incoming/x', '2026-11-20T00:00:00Z'));
    expect(await handler(event, contextOf('on-arrival'))).toEqual({ batchItemFailures: [] });
  });

  it('has nothing to return for an undeclared pipeline', async () => {
    dynamo.on(GetCommand).resolves({});
    const handler = await load('on-arrival');
    const event = records(created('digits/incoming/x', '2026-11-20T00:00:00Z'));
    expect(await handler(event, contextOf('on-arrival'))).toEqual({ batchItemFailures: [] });
  });
});

describe('api', () => {
  it('answers in the form that API Gateway takes', async () => {
    dynamo.on(QueryCommand).resolves({ Items: [] });
    const handler = await load('api');
    expect(await handler({ routeKey: 'GET /pipelines', version: '2.0' }, contextOf('api'))).toEqual({
      statusCode: 200,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'private, no-cache',
        etag: expect.stringMatching(/^"[\w-]{43}"$/) as string,
      },
      body: '{"pipelines":[]}',
    });
  });

  it('answers a throttle with 429 and Retry-After', async () => {
    failDynamo(throttled);
    const handler = await load('api');
    expect(await handler({ routeKey: 'GET /pipelines', version: '2.0' }, contextOf('api'))).toMatchObject({
      statusCode: 429,
      headers: { 'content-type': 'application/json', 'retry-after': '2' },
    });
  });

  it('reads a body that came in base64', async () => {
    const handler = await load('api');
    const event = {
      routeKey: 'PUT /pipelines/{name}',
      pathParameters: { name: 'digits' },
      body: Buffer.from('name: letters').toString('base64'),
      isBase64Encoded: true,
    };
    const response = (await handler(event, contextOf('api'))) as { statusCode: number; body: string };
    expect(response.statusCode).toBe(400);
    expect(response.body).toContain('letters');
  });
});

describe('reconcile', () => {
  it('counts what failed within it', async () => {
    vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false');
    const run = { ...RUN, version: 1, status: 'training', execution: 1, updatedAt: '' };
    dynamo.on(QueryCommand).resolves({ Items: [run] });
    dynamo.on(GetCommand).rejects(throttled);
    vi.resetModules();
    const sent: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line: unknown) => void sent.push(String(line)));
    const handler = await load('reconcile');
    const done = (await handler({ sweep: false }, contextOf('tidewheel-dev-reconcile'))) as {
      readonly failures: readonly string[];
    };
    expect(done.failures.length).toBeGreaterThan(0);
    const metrics = sent
      .filter((line) => line.includes('PartialFailures'))
      .map((line): unknown => JSON.parse(line));
    expect(metrics).toMatchObject([
      {
        service: 'tidewheel',
        functionName: 'tidewheel-dev-reconcile',
        PartialFailures: done.failures.length,
      },
    ]);
  });
});

describe('report', () => {
  it('accepts what a failed launch leaves behind', async () => {
    failDynamo(denied);
    const handler = await load('report');
    const event = {
      ...RUN,
      judgement: { kind: 'launch', attempt: 1, timeoutSeconds: 60 },
      error: { Error: 'LaunchRefusedError', Cause: '{"errorMessage":"no data"}' },
    };
    await expect(handler(event, contextOf('report'))).rejects.toMatchObject({
      name: 'AccessDeniedException',
    });
  });
});
