/** Messages of a queue: the batches that a function gets of them, and what S3 notifies of. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateEventSourceMappingCommand, LambdaClient } from '@aws-sdk/client-lambda';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  PutBucketNotificationConfigurationCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { signedFetch } from '../../../../test/support/signed-fetch.ts';
import { createFunction } from './lambda.ts';

const NOTES = `
import { appendFileSync } from 'node:fs';
export const handler = async ({ Records }) => {
  appendFileSync(process.env.FOLDER + '/sizes', Records.length + ' ');
  return {};
};`;

const emulator = emulatorOfSuite();
const folder = folderOfSuite('batches');
async function sqs(operation: string, body: object): Promise<unknown> {
  const headers = { 'x-amz-target': `AmazonSQS.${operation}`, 'content-type': 'application/x-amz-json-1.0' };
  const request = { service: 'sqs', method: 'POST' as const, headers, body: JSON.stringify(body) };
  const answer = await signedFetch(emulator.url, request);
  expect(answer.status).toBe(200);
  return answer.json();
}

const arnOf = (name: string) => `arn:aws:sqs:us-east-1:000000000000:${name}`;
const created = z.object({ QueueUrl: z.string() });
const received = z.object({ Messages: z.array(z.object({ Body: z.string() })).default([]) });

it('gathers forty messages into one invocation', async () => {
  const FunctionName = await createFunction(emulator.url, 'notes', NOTES, { FOLDER: folder });
  const { QueueUrl } = created.parse(await sqs('CreateQueue', { QueueName: 'many' }));
  await new LambdaClient(clientConfiguration(emulator.url)).send(
    new CreateEventSourceMappingCommand({
      FunctionName,
      EventSourceArn: arnOf('many'),
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
});

it('holds removals alone where S3 notifies of removals', async () => {
  const { QueueUrl } = created.parse(await sqs('CreateQueue', { QueueName: 'removed' }));
  const s3 = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true });
  const Bucket = 'notifies';
  await s3.send(new CreateBucketCommand({ Bucket }));
  const configuration = { Events: ['s3:ObjectRemoved:*' as const], QueueArn: arnOf('removed') };
  await s3.send(
    new PutBucketNotificationConfigurationCommand({
      Bucket,
      NotificationConfiguration: { QueueConfigurations: [configuration] },
    }),
  );
  await s3.send(new PutObjectCommand({ Bucket, Key: 'a b+c', Body: 'x' }));
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'a b+c' }));
  const { Messages } = received.parse(await sqs('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 }));
  const bodies = Messages.map(({ Body }) => Body);
  expect(bodies).toEqual([
    expect.stringContaining('s3:TestEvent'),
    expect.stringMatching(/"ObjectRemoved:Delete".*"a\+b%2Bc"/) as string,
  ]);
});
