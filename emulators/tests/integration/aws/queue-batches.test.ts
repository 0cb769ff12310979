/** Batches of a queue are as large as the mapping says, once its window has passed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateEventSourceMappingCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { clientConfiguration, startTestEmulator } from '../../../../test/support/emulator.ts';
import { signedFetch } from '../../../../test/support/signed-fetch.ts';
import { createFunction } from './lambda.ts';

const NOTES = `
import { appendFileSync } from 'node:fs';
export const handler = async ({ Records }) => {
  appendFileSync(process.env.FOLDER + '/sizes', Records.length + ' ');
  return {};
};`;

it('gathers forty messages into one invocation', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-batches-'));
  const emulator = await startTestEmulator();
  const sqs = async (operation: string, body: object) => {
    const headers = {
      'x-amz-target': `AmazonSQS.${operation}`,
      'content-type': 'application/x-amz-json-1.0',
    };
    const answer = await signedFetch(emulator.url, {
      service: 'sqs',
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Record<string, string>;
  };
  try {
    const FunctionName = await createFunction(emulator.url, 'notes', NOTES, { FOLDER: folder });
    const { QueueUrl } = await sqs('CreateQueue', { QueueName: 'many' });
    await new LambdaClient(clientConfiguration(emulator.url)).send(
      new CreateEventSourceMappingCommand({
        FunctionName,
        EventSourceArn: 'arn:aws:sqs:us-east-1:000000000000:many',
        BatchSize: 1_000,
        MaximumBatchingWindowInSeconds: 3,
      }),
    );
    for (let batch = 0; batch < 4; batch += 1)
      await sqs('SendMessageBatch', {
        QueueUrl,
        Entries: Array.from({ length: 10 }, (_, index) => ({ Id: `m${index}`, MessageBody: `${index}` })),
      });
    const sizes = () => readFile(path.join(folder, 'sizes'), 'utf8').catch(() => '');
    for (let tries = 0; tries < 100 && (await sizes()) === ''; tries += 1) await sleep(100);
    expect(await sizes()).toBe('40 ');
  } finally {
    await emulator.stop();
    await rm(folder, { recursive: true });
  }
});
