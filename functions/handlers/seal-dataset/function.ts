import {
  eventBus,
  type FunctionDescription,
  youngGeneration,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const sealDataset: FunctionDescription = {
  description: 'Proves and seals the generation',
  layers: '${file(serverless/image-layer.cjs):attached}',
  timeoutSeconds: 900,
  memoryMegabytes: 1024,
  environment: { ...youngGeneration, ...eventBus },
  permissions: [
    allow.listBucket,
    allow.readObjects('*/dataset/*', '*/runs/*/plan/*'),
    // Pictures of rejected images, for the quality report.
    allow.readObjects('*/incoming/*'),
    allow.writeObjects('*/dataset/*'),
    // Copies of files that no shard holds.
    allow.onObjects(['AbortMultipartUpload'], '*/dataset/kept/*'),
    allow.useTable('GetItem', 'PutItem', 'UpdateItem'),
    allow.putEvents,
  ],
};
