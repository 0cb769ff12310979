import {
  type FunctionDescription,
  packers,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const planCompaction: FunctionDescription = {
  description: 'Plans to join small generations when there are too many, and what a run draws',
  timeoutSeconds: 900,
  memoryMegabytes: 1024,
  environment: { ...youngGeneration, ...packers },
  permissions: [
    allow.listBucket,
    allow.readObjects('*/dataset/*'),
    allow.writeObjects('*/runs/*/plan/*', '*/runs/*/reads/*'),
    allow.useTable('GetItem', 'PutItem', 'UpdateItem'),
  ],
};
