import {
  type FunctionDescription,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const unpackArchives: FunctionDescription = {
  description: 'Makes the files of archives arrivals',
  timeoutSeconds: 900,
  // It shuffles files among 512 MiB of them.
  memoryMegabytes: 1769,
  environment: youngGeneration,
  permissions: [
    allow.listBucket,
    allow.readObjects('*/incoming/*', '*/dataset/retractions/*'),
    allow.onObjects(['PutObject', 'DeleteObject'], '*/incoming/.tidewheel/bundles/*'),
    allow.onObjects(['GetObject', 'PutObject', 'DeleteObject'], '*/dataset/archives/*'),
    allow.useTable('PutItem'),
  ],
};
