/** An account with two concurrent executions, both taken: what Lambda does with each kind of invocation. */
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CreateEventSourceMappingCommand,
  InvokeCommand,
  LambdaClient,
  PutFunctionConcurrencyCommand,
} from '@aws-sdk/client-lambda';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  clientConfiguration,
  startTestEmulator,
  type TestEmulator,
} from '../../../../test/support/emulator.ts';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { signedFetch } from '../../../../test/support/signed-fetch.ts';
import { createFunction, invoke } from './lambda.ts';

const SLOTS = 2;

/** Notes that it began, and ends once the file `release` is there. */
const HOLDS = `
import { appendFileSync, existsSync } from 'node:fs';
export const handler = async () => {
  appendFileSync(process.env.FOLDER + '/began', 'x');
  while (!existsSync(process.env.FOLDER + '/release')) await new Promise((r) => setTimeout(r, 50));
  return { held: true };
};`;
/** Notes its event. */
const NOTES = `
import { appendFileSync } from 'node:fs';
export const handler = async (event) => {
  const times = event.Records?.map(({ attributes }) => attributes.ApproximateReceiveCount) ?? ['event'];
  appendFileSync(process.env.FOLDER + '/noted', times.join());
  return {};
};`;

let emulator: TestEmulator;
let folder: string;
let lambda: LambdaClient;
let held: Promise<unknown>[];
let noteArn: string;

beforeEach(async () => {
  folder = folderOfTest('slots');
  emulator = await startTestEmulator({ concurrentExecutions: SLOTS });
  lambda = new LambdaClient({ ...clientConfiguration(emulator.url), maxAttempts: 1 });
  await createFunction(emulator.url, 'holds', HOLDS, { FOLDER: folder });
  noteArn = await createFunction(emulator.url, 'notes', NOTES, { FOLDER: folder });
  held = Array.from({ length: SLOTS }, () => invoke(emulator.url, 'holds'));
  await text('began', 'xx');
});

afterEach(async () => {
  await release();
  await emulator.stop();
});

const release = () => writeFile(path.join(folder, 'release'), '');

/** Waits until the file holds the text. */
async function text(file: string, expected: string): Promise<void> {
  const limit = Date.now() + 30_000;
  await appendFile(path.join(folder, file), '');
  let found = '';
  while (found !== expected && Date.now() < limit) {
    await sleep(50);
    found = await readFile(path.join(folder, file), 'utf8');
  }
  expect(found).toBe(expected);
}

const isNoted = async (): Promise<boolean> =>
  (await readFile(path.join(folder, 'noted'), 'utf8').catch(() => '')) !== '';

async function sqs(operation: string, body: object): Promise<Record<string, string>> {
  const response = await signedFetch(emulator.url, {
    service: 'sqs',
    method: 'POST',
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${operation}` },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, string>;
}

describe('an invocation above the limit', () => {
  it('is refused when its caller waits', async () => {
    await expect(lambda.send(new InvokeCommand({ FunctionName: 'notes' }))).rejects.toMatchObject({
      name: 'TooManyRequestsException',
      Reason: 'ConcurrentInvocationLimitExceeded',
      message: 'Rate Exceeded.',
      $metadata: { httpStatusCode: 429 },
    });
    await release();
    expect(await Promise.all(held)).toEqual([{ held: true }, { held: true }]);
    expect((await lambda.send(new InvokeCommand({ FunctionName: 'notes' }))).StatusCode).toBe(200);
  });

  it('is kept when it is asynchronous', async () => {
    await lambda.send(new InvokeCommand({ FunctionName: 'notes', InvocationType: 'Event' }));
    await sleep(500);
    expect(await isNoted()).toBe(false);
    await release();
    await text('noted', 'event');
  });

  it('stays in its queue', async () => {
    const { QueueUrl } = await sqs('CreateQueue', {
      QueueName: 'arrivals',
      Attributes: { VisibilityTimeout: '360' },
    });
    const mapping = { FunctionName: 'notes', EventSourceArn: 'arn:aws:sqs:us-east-1:000000000000:arrivals' };
    await lambda.send(new CreateEventSourceMappingCommand(mapping));
    await sqs('SendMessage', { QueueUrl, MessageBody: '{}' });
    await sleep(1_500);
    expect(await isNoted()).toBe(false);
    await release();
    // Delivered once: the poller has tried again while the message was invisible.
    await text('noted', '1');
  });

  it.each([
    ['of the account', async () => undefined],
    [
      'of the function',
      async () => {
        const reserved = { FunctionName: 'notes', ReservedConcurrentExecutions: 0 };
        await lambda.send(new PutFunctionConcurrencyCommand(reserved));
        await release();
        await Promise.all(held);
      },
    ],
  ])('%s fails a task by its documented name', async (_, reach) => {
    await reach();
    const sfn = new SFNClient(clientConfiguration(emulator.url));
    const { stateMachineArn } = await sfn.send(
      new CreateStateMachineCommand({
        name: 'calls',
        roleArn: 'arn:aws:iam::000000000000:role/none',
        definition: JSON.stringify({
          StartAt: 'Call',
          States: { Call: { Type: 'Task', Resource: noteArn, End: true } },
        }),
      }),
    );
    const { executionArn } = await sfn.send(new StartExecutionCommand({ stateMachineArn, input: '{}' }));
    let described = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    while (described.status === 'RUNNING') {
      await sleep(50);
      described = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    }
    expect(described).toMatchObject({ status: 'FAILED', error: 'Lambda.TooManyRequestsException' });
  });
});
