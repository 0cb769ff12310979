/** The only place where control-plane SDK clients are made. Endpoints, region and credentials are the SDK's own business. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { S3Client } from '@aws-sdk/client-s3';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SFNClient } from '@aws-sdk/client-sfn';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** One client a service and process, made when first asked for: a cold start pays only for what it uses. */
export const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};

/** SDK standard mode with one more try than the default 3: throttles of the control plane are short. */
export const retry = { maxAttempts: 4 } as const;

// Exports of their own, marked pure: a bundle holds only the clients that its function uses.
export const dynamo = /* @__PURE__ */ once(() =>
  DynamoDBDocumentClient.from(new DynamoDBClient(retry), {
    marshallOptions: { removeUndefinedValues: true },
  }),
);
export const eventBridge = /* @__PURE__ */ once(() => new EventBridgeClient(retry));
export const s3 = /* @__PURE__ */ once(() => new S3Client({ ...retry, forcePathStyle: needsPathStyle() }));
/** Clients of other regions than the function's own, one each. */
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

/** A named endpoint (an S3-compatible store, a VPC endpoint) has no wildcard DNS for bucket names. */
function needsPathStyle(): boolean {
  return (process.env['AWS_ENDPOINT_URL_S3'] ?? process.env['AWS_ENDPOINT_URL']) !== undefined;
}
