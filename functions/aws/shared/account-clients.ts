/** Clients of the services that a check of the deployment reads, and `plan` a few of them. */
import { ECRClient } from '@aws-sdk/client-ecr';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import { once } from '@tidewheel/kit/once.ts';
import { perRegion, retry } from './clients.ts';

export const lambda = /* @__PURE__ */ once(() => new LambdaClient(retry));
/** The client warns where a queue's URL names another host than the endpoint, as in the local region. */
export const sqs = /* @__PURE__ */ once(() => new SQSClient({ ...retry, useQueueUrlAsEndpoint: false }));
export const ecrIn = /* @__PURE__ */ perRegion((region) => new ECRClient({ ...retry, region }));
export const secretsManagerIn = /* @__PURE__ */ perRegion(
  (region) => new SecretsManagerClient({ ...retry, region }),
);
export const serviceQuotasIn = /* @__PURE__ */ perRegion(
  (region) => new ServiceQuotasClient({ ...retry, region }),
);
export const ssmIn = /* @__PURE__ */ perRegion((region) => new SSMClient({ ...retry, region }));
