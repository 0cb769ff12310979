import { type FunctionDescription, youngGeneration } from '../../serverless/describe/function-description.ts';
import * as allow from '../../serverless/describe/permissions.ts';

export const place: FunctionDescription = {
  description: 'Chooses topology and pool of the next attempt',
  timeoutSeconds: 120,
  memoryMegabytes: 1024,
  environment: youngGeneration,
  permissions: [
    allow.useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
    allow.readObjects('*/runs/*/checkpoints/*'),
    allow.listBucket,
    allow.withoutResource(
      'ec2',
      'GetSpotPlacementScores',
      'DescribeSpotPriceHistory',
      'DescribeAvailabilityZones',
    ),
    // Whether another region has a bucket, and how much data would move there.
    allow.listBucketElsewhere,
    allow.readObjects('*/dataset/*/manifest.json'),
  ],
};
