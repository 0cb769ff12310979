/**
 * Clients of the services with capacity. They have their own module, because a bundler parses every import even if it
 * keeps nothing of it, and EC2's client is larger than all other clients together.
 */
import { EC2Client } from '@aws-sdk/client-ec2';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { once } from '@tidewheel/kit/once.ts';
import { perRegion, retry } from './clients.ts';

export const ec2 = /* @__PURE__ */ once(() => new EC2Client(retry));
export const ec2In = /* @__PURE__ */ perRegion((region) => new EC2Client({ ...retry, region }));
export const sageMaker = /* @__PURE__ */ once(() => new SageMakerClient(retry));
export const sageMakerIn = /* @__PURE__ */ perRegion((region) => new SageMakerClient({ ...retry, region }));
export const iam = /* @__PURE__ */ once(() => new IAMClient(retry));
/** @param region a region with an endpoint of the Price List */
export const pricing = (region: string): PricingClient => new PricingClient({ ...retry, region });
