/** Clients of the services that only notices need. */
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import { SQSClient } from '@aws-sdk/client-sqs';
import { once } from '@tidewheel/kit/once.ts';
import { retry } from './clients.ts';

export const sns = /* @__PURE__ */ once(() => new SNSClient(retry));
/** The client warns where a queue's URL names another host than the endpoint, as in the local region. */
export const sqs = /* @__PURE__ */ once(() => new SQSClient({ ...retry, useQueueUrlAsEndpoint: false }));
export const secretsManager = /* @__PURE__ */ once(() => new SecretsManagerClient(retry));
