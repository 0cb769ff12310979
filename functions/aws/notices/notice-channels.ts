/** Where notices go: topics of SNS, and webhooks whose addresses are secrets. */

import { createHmac } from 'node:crypto';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { Delivery, NoticeChannels } from '../../notices/send-notices.ts';
import { type SecretAddress, secretAddress } from '../shared/secret-address.ts';

export interface ChannelClients {
  readonly sns: SNSClient;
  readonly secrets: SecretsManagerClient;
  readonly clock: Clock;
}

/** A queue's message is tried again six minutes later, so a slow server must not hold up the other targets. */
const TIMEOUT_MILLISECONDS = 10_000;

export function noticeChannels(clients: ChannelClients): NoticeChannels {
  return {
    publish: (topicArn, { subject, message }) => publish(clients.sns, topicArn, subject, message),
    post: async (secret, body) => {
      const webhook = await secretAddress(clients.secrets, secret);
      return 'reason' in webhook ? { kind: 'refused', ...webhook } : send(webhook, body, clients.clock);
    },
  };
}

async function publish(
  sns: SNSClient,
  topicArn: string,
  Subject: string,
  Message: string,
): Promise<Delivery> {
  try {
    await sns.send(new PublishCommand({ TopicArn: topicArn, Subject, Message }));
    return { kind: 'delivered' };
  } catch (error: unknown) {
    if (error instanceof Error && PERMANENT.has(error.name))
      return { kind: 'refused', reason: `SNS answers ${error.name}` };
    throw error;
  }
}

/** https://docs.aws.amazon.com/sns/latest/api/API_Publish.html#API_Publish_Errors */
const PERMANENT = new Set([
  'NotFoundException',
  'AuthorizationErrorException',
  'InvalidParameterException',
  'KMSAccessDeniedException',
  'KMSDisabledException',
  'KMSNotFoundException',
]);

async function send({ url, key }: SecretAddress, body: string, clock: Clock): Promise<Delivery> {
  const seconds = Math.floor(clock.now().getTime() / 1_000);
  const signature = key === undefined ? {} : { 'tidewheel-signature': signatureOf(key, seconds, body) };
  let answer: Response;
  try {
    answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'tidewheel', ...signature },
      body,
      // A redirect could lead to where the secret's owner did not mean.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
    });
    await answer.body?.cancel();
  } catch (cause: unknown) {
    // The cause names the address, which is a credential.
    throw new TransientError(`${url.host} cannot be reached`, { cause: nameOf(cause) });
  }
  if (answer.ok) return { kind: 'delivered' };
  if (answer.status === 408 || answer.status === 429 || answer.status >= 500)
    throw new TransientError(`${url.host} answers ${answer.status}`);
  return { kind: 'refused', reason: `${url.host} answers ${answer.status}` };
}

/** Over time and body, so that a recorded request cannot be sent again later: `t=<seconds>,v1=<hex HMAC-SHA256 of t.body>`. */
const signatureOf = (key: string, seconds: number, body: string): string =>
  `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')}`;

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown');
