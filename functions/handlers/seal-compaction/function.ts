import {
  type FunctionDescription,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const sealCompaction: FunctionDescription = {
  description: 'Proves a compaction and replaces the small generations',
  timeoutSeconds: 900,
  memoryMegabytes: 1024,
  environment: youngGeneration,
  permissions: [
    allow.listBucket,
    allow.readObjects('*/dataset/*', '*/runs/*/plan/*'),
    allow.writeObjects('*/dataset/*'),
    allow.useTable('GetItem', 'PutItem'),
  ],
};
