import {
  type FunctionDescription,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const deletePacked: FunctionDescription = {
  description: 'Deletes what a sealed generation packed',
  timeoutSeconds: 900,
  memoryMegabytes: 1024,
  environment: youngGeneration,
  permissions: [
    allow.listBucket,
    allow.readObjects('*/dataset/*'),
    allow.onObjects(['GetObject', 'PutObject'], '*/runs/*/deletion.json'),
    // A delete that names an ETag needs both.
    allow.onObjects(['GetObject', 'DeleteObject'], '*/incoming/*'),
    allow.useTable('GetItem'),
  ],
};
