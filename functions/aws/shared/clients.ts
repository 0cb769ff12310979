/** The only place where control-plane SDK clients are made. Endpoints, region and credentials are the SDK's own business. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EC2Client } from '@aws-sdk/client-ec2';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { PricingClient } from '@aws-sdk/client-pricing';
import { S3Client } from '@aws-sdk/client-s3';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SFNClient } from '@aws-sdk/client-sfn';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** One client a service and process, made when first asked for: a cold start pays only for what it uses. */
const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};

/** SDK standard mode with one more try than the default 3: throttles of the control plane are short. */
const retry = { maxAttempts: 4 } as const;

// Exports of their own, marked pure: a bundle holds only the clients that its function uses.
export const dynamo = /* @__PURE__ */ once(() =>
  DynamoDBDocumentClient.from(new DynamoDBClient(retry), {
    marshallOptions: { removeUndefinedValues: true },
  }),
);
export const ec2 = /* @__PURE__ */ once(() => new EC2Client(retry));
export const eventBridge = /* @__PURE__ */ once(() => new EventBridgeClient(retry));
/** @param region one of those with an endpoint of the Price List */
export const pricing = (region: string): PricingClient => new PricingClient({ ...retry, region });
export const s3 = /* @__PURE__ */ once(() => new S3Client({ ...retry, forcePathStyle: needsPathStyle() }));
/** Clients of other regions than the function's own, one each. */
const perRegion = <T>(make: (region: string) => T): ((region: string) => T) => {
  const made = new Map<string, T>();
  return (region) => {
    const client = made.get(region) ?? make(region);
    made.set(region, client);
    return client;
  };
};
export const ec2In = /* @__PURE__ */ perRegion((region) => new EC2Client({ ...retry, region }));
export const s3In = /* @__PURE__ */ perRegion(
  (region) => new S3Client({ ...retry, region, forcePathStyle: needsPathStyle() }),
);
export const sageMakerIn = /* @__PURE__ */ perRegion((region) => new SageMakerClient({ ...retry, region }));
export const sageMaker = /* @__PURE__ */ once(() => new SageMakerClient(retry));
export const scheduler = /* @__PURE__ */ once(() => new SchedulerClient(retry));
export const stepFunctions = /* @__PURE__ */ once(() => new SFNClient(retry));

/** A named endpoint (an S3-compatible store, a VPC endpoint) has no wildcard DNS for bucket names. */
function needsPathStyle(): boolean {
  return (process.env['AWS_ENDPOINT_URL_S3'] ?? process.env['AWS_ENDPOINT_URL']) !== undefined;
}
