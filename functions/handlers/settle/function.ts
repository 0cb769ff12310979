import { allowedNames, type FunctionDescription } from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const settle: FunctionDescription = {
  description: 'Waits for quiet under the incoming prefix and closes the batch',
  // It lists all arrivals, of which there may be millions: by as many readers as one core can serve.
  timeoutSeconds: 900,
  memoryMegabytes: 1769,
  environment: allowedNames,
  permissions: [
    // The report tells whether a run has ended whose record another release wrote.
    allow.readObjects('pipelines/*', '*/runs/*/report.json', '*/models/current.json'),
    allow.onObjects(['GetObject', 'PutObject'], '*/runs/*/records/close.json'),
    allow.listBucket,
    allow.useTable('GetItem', 'PutItem', 'UpdateItem'),
  ],
};
