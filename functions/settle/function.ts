import type { FunctionDescription } from '../../serverless/describe/function-description.ts';
import * as allow from '../../serverless/describe/permissions.ts';

export const settle: FunctionDescription = {
  description: 'Waits for quiet under the incoming prefix and closes the batch',
  timeoutSeconds: 300,
  permissions: [
    allow.readObjects('pipelines/*'),
    allow.listBucket,
    allow.useTable('GetItem', 'PutItem', 'UpdateItem'),
  ],
};
