import {
  type FunctionDescription,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const compactShards: FunctionDescription = {
  description: 'Joins the sealed shards of one item of a compaction',
  timeoutSeconds: 900,
  memoryMegabytes: 1769,
  environment: youngGeneration,
  permissions: [
    allow.listBucket,
    allow.readObjects('*/runs/*/plan/*', '*/dataset/*'),
    allow.writeShards,
    allow.useTable('GetItem'),
  ],
};
