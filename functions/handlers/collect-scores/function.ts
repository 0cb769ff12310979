import { every, type FunctionDescription } from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const collectScores: FunctionDescription = {
  description: 'Keeps the history of placement scores, prices and of what attempts met',
  timeoutSeconds: 300,
  permissions: [
    allow.useTable('GetItem', 'PutItem', 'Query'),
    allow.readObjects('pipelines/*'),
    allow.listBucket,
    // It asks in every region that a pipeline names.
    allow.withoutResource(
      'ec2',
      'GetSpotPlacementScores',
      'DescribeSpotPriceHistory',
      'DescribeAvailabilityZones',
      'DescribeInstanceTypes',
    ),
    allow.withoutResource('pricing', 'GetProducts'),
  ],
  events: [every('15 minutes', {})],
};
