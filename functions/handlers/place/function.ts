import {
  account,
  type FunctionDescription,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const place: FunctionDescription = {
  description: 'Chooses topology and pool of the next attempt',
  timeoutSeconds: 120,
  memoryMegabytes: 1024,
  environment: { ...youngGeneration, ...account },
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
    ...allow.describeReservations,
    ...allow.searchOffers,
    // How much data a start downloads, or would move to another region.
    allow.readObjects('*/dataset/versions/*', '*/dataset/*/manifest.json', '*/dataset/*/rejections.json'),
    // Whether another region has a bucket.
    allow.listBucketElsewhere,
  ],
};
