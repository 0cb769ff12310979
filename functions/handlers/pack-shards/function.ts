import {
  type FunctionDescription,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const packShards: FunctionDescription = {
  description: 'Packs one item of the plan',
  layers: '${file(serverless/image-layer.cjs):attached}',
  timeoutSeconds: 900,
  memoryMegabytes: 1769,
  environment: youngGeneration,
  permissions: [
    allow.listBucket,
    allow.readObjects('*/incoming/*', '*/runs/*/plan/*', '*/dataset/*/shards/*'),
    // It tells the parts of a multipart upload, and nothing that s3:GetObject does not.
    allow.onObjects(['GetObjectAttributes'], '*/incoming/*'),
    allow.writeShards,
    allow.useTable('GetItem'),
  ],
};
