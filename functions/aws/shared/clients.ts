/** Creates all SDK clients of the control plane. The SDK itself finds endpoints, region and credentials. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { S3Client } from '@aws-sdk/client-s3';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SNSClient } from '@aws-sdk/client-sns';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { once } from '@tidewheel/kit/once.ts';

/** The SDK's standard mode with 4 tries instead of 3, because throttles of the control plane are short. */
export const retry = { maxAttempts: 4 } as const;

/** Scripts report numbers of any size. DynamoDB keeps 38 digits, and JavaScript reads what it wrote. */
const documents = {
  marshallOptions: { removeUndefinedValues: true, allowImpreciseNumbers: true },
  unmarshallOptions: { wrapNumbers: Number },
} as const;

export const documentClient = (client: DynamoDBClient): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(client, documents);

// One client per service and process, made at its first use. Separate exports marked pure, so that a bundle contains only the clients that its function uses.
export const dynamo = /* @__PURE__ */ once(() => documentClient(new DynamoDBClient(retry)));
export const eventBridge = /* @__PURE__ */ once(() => new EventBridgeClient(retry));
export const s3 = /* @__PURE__ */ once(() => new S3Client({ ...retry, forcePathStyle: needsPathStyle() }));
/** One client for each other region. */
export const perRegion = <T>(make: (region: string) => T): ((region: string) => T) => {
  const made = new Map<string, T>();
  return (region) => {
    const client = made.get(region) ?? make(region);
    made.set(region, client);
    return client;
  };
};
export const s3In = /* @__PURE__ */ perRegion(
  (region) => new S3Client({ ...retry, region, forcePathStyle: needsPathStyle() }),
);
export const scheduler = /* @__PURE__ */ once(() => new SchedulerClient(retry));
export const stepFunctions = /* @__PURE__ */ once(() => new SFNClient(retry));

/** A custom endpoint (an S3-compatible store or a VPC endpoint) has no wildcard DNS for bucket names. */
function needsPathStyle(): boolean {
  return (process.env['AWS_ENDPOINT_URL_S3'] ?? process.env['AWS_ENDPOINT_URL']) !== undefined;
}

// Clients of the services that only notices need.

export const sns = /* @__PURE__ */ once(() => new SNSClient(retry));
/** The client warns where a queue's URL names another host than the endpoint, as in the local region. */
export const sqs = /* @__PURE__ */ once(() => new SQSClient({ ...retry, useQueueUrlAsEndpoint: false }));
export const secretsManager = /* @__PURE__ */ once(() => new SecretsManagerClient(retry));
