/** Notices through the emulator's SNS and Secrets Manager, and to a real HTTP server. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { CreateTopicCommand, SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { noticeChannels } from '../../../functions/aws/notices/notice-channels.ts';
import { polledQueue } from '../../../functions/aws/sqs/polled-queue.ts';
import type { NoticeChannels } from '../../../functions/notices/send-notices.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';

const NOW = new Date('2026-11-25T10:00:00Z');
const KEY = 'a key of sixteen characters and more';

let emulator: TestEmulator;
let server: Server;
let address: string;
let secrets: SecretsManagerClient;
let channels: NoticeChannels;
let answer: { status: number; headers?: Record<string, string> };
let received: { path: string; headers: IncomingHttpHeaders; body: string }[];

beforeAll(async () => {
  emulator = await startTestEmulator();
  server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ path: request.url ?? '', headers: request.headers, body });
      response.writeHead(answer.status, answer.headers).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = server.address();
  address = `http://127.0.0.1:${typeof at === 'object' && at !== null ? at.port : 0}/hook`;
  secrets = new SecretsManagerClient(clientConfiguration(emulator.url));
  const sns = new SNSClient(clientConfiguration(emulator.url));
  channels = noticeChannels({ sns, secrets, clock: { now: () => NOW } });
  for (const [Name, SecretString] of [
    ['tidewheel/notify/plain', `${address}\n`],
    ['tidewheel/notify/signed', JSON.stringify({ url: address, key: KEY })],
    ['tidewheel/notify/open', 'http://example.com/hook'],
    ['tidewheel/notify/none', 'no address'],
  ] as const)
    await secrets.send(new CreateSecretCommand({ Name, SecretString }));
});

afterAll(async () => {
  server?.close();
  await emulator?.stop();
});

beforeEach(() => {
  answer = { status: 204 };
  received = [];
});

describe('a webhook', () => {
  it('receives what was posted', async () => {
    expect(await channels.post('tidewheel/notify/plain', '{"a":1}')).toEqual({ kind: 'delivered' });
    expect(received).toMatchObject([{ path: '/hook', body: '{"a":1}' }]);
    expect(received[0]?.headers['tidewheel-signature']).toBeUndefined();
  });

  it('can check who posted', async () => {
    await channels.post('tidewheel/notify/signed', '{"a":1}');
    const seconds = NOW.getTime() / 1_000;
    const hex = createHmac('sha256', KEY).update(`${seconds}.{"a":1}`).digest('hex');
    expect(received[0]?.headers['tidewheel-signature']).toBe(`t=${seconds},v1=${hex}`);
  });

  it.each([400, 404, 410])('that answers %i refuses', async (status) => {
    answer = { status };
    const host = new URL(address).host;
    const reason = `${host} answers ${status}`;
    expect(await channels.post('tidewheel/notify/plain', '{}')).toEqual({ kind: 'refused', reason });
  });

  it.each([408, 429, 500, 503])('that answers %i is tried again', async (status) => {
    answer = { status };
    await expect(channels.post('tidewheel/notify/plain', '{}')).rejects.toMatchObject({
      name: 'TransientError',
    });
  });

  it('leads nowhere else', async () => {
    answer = { status: 307, headers: { location: `${address}/elsewhere` } };
    expect(await channels.post('tidewheel/notify/plain', '{}')).toMatchObject({ kind: 'refused' });
    expect(received).toHaveLength(1);
  });
});

describe('a secret', () => {
  it.each([
    ['missing', 'there is no such secret: create it'],
    ['none', 'the secret holds no address'],
    ['open', 'its address is not https'],
  ])('that is %s is refused', async (name, why) => {
    const delivery = await channels.post(`tidewheel/notify/${name}`, '{}');
    expect(delivery.kind === 'refused' && delivery.reason).toContain(why);
    expect(received).toEqual([]);
  });
});

describe('a topic', () => {
  it('hands subject and text on', async () => {
    const at = clientConfiguration(emulator.url);
    const sns = new SNSClient(at);
    const sqs = new SQSClient({ ...at, useQueueUrlAsEndpoint: false });
    const { TopicArn = '' } = await sns.send(new CreateTopicCommand({ Name: 'tidewheel-team' }));
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'readers' }));
    const Endpoint = 'arn:aws:sqs:us-east-1:000000000000:readers';
    await sns.send(new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint }));
    expect(await channels.publish(TopicArn, { subject: 'It failed', message: 'Why\nand how' })).toEqual({
      kind: 'delivered',
    });
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5 }));
    expect(JSON.parse(Messages[0]?.Body ?? '{}')).toMatchObject({
      Subject: 'It failed',
      Message: 'Why\nand how',
    });
  });

  it('that does not exist refuses', async () => {
    const missing = 'arn:aws:sns:us-east-1:000000000000:tidewheel-none';
    expect(await channels.publish(missing, { subject: 'a', message: 'b' })).toEqual({
      kind: 'refused',
      reason: 'SNS answers NotFoundException',
    });
  });
});

it('the queue gives each message until it is deleted', async () => {
  const sqs = new SQSClient({ ...clientConfiguration(emulator.url), useQueueUrlAsEndpoint: false });
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: 'notices' }));
  const queue = polledQueue(sqs, QueueUrl);
  expect(await queue.receive()).toEqual([]);
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'an event' }));
  const [message] = await queue.receive();
  expect(message).toMatchObject({ body: 'an event', receives: 1 });
  if (message !== undefined) {
    const { receipt: ReceiptHandle } = message;
    const again = { QueueUrl, ReceiptHandle, VisibilityTimeout: 0 };
    await sqs.send(new ChangeMessageVisibilityCommand(again));
  }
  const [same] = await queue.receive();
  expect(same).toMatchObject({ messageId: message?.messageId, receives: 2 });
  if (same !== undefined) await queue.delete(same);
  expect(await queue.receive()).toEqual([]);
});
