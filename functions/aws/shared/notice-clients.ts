/** Clients of the services that only notices need. */
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import { once } from '../../core/shared/once.ts';
import { retry } from './clients.ts';

export const sns = /* @__PURE__ */ once(() => new SNSClient(retry));
export const secretsManager = /* @__PURE__ */ once(() => new SecretsManagerClient(retry));
