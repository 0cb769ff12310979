import {
  type FunctionDescription,
  packers,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const planShards: FunctionDescription = {
  description: 'Writes the deterministic packing plan',
  timeoutSeconds: 900,
  memoryMegabytes: 1024,
  environment: { ...youngGeneration, ...packers },
  permissions: [
    allow.listBucket,
    allow.readObjects('*/incoming/*', '*/dataset/*', '*/runs/*/plan/*', '*/notified/*'),
    // Which runs delete what they packed.
    allow.readObjects('*/runs/*/deletion.json'),
    allow.onObjects(['DeleteObject'], '*/notified/*'),
    allow.writeObjects('*/runs/*/plan/*', '*/dataset/compared-labels.json'),
    allow.useTable('GetItem'),
  ],
};
