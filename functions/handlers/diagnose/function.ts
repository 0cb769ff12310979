import {
  eventBus,
  every,
  type FunctionDescription,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const diagnose: FunctionDescription = {
  description: 'Says what holds trainings back, by what their agents measured',
  timeoutSeconds: 120,
  // An attempt's measurements are up to 64 MB of JSON.
  memoryMegabytes: 1769,
  environment: eventBus,
  permissions: [
    allow.useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
    allow.listBucket,
    allow.readObjects('*/runs/*/checkpoints/*'),
    allow.putEvents,
  ],
  // The first verdict is due after two minutes of steps; a diagnosis stands for five.
  events: [every('1 minute', {})],
};
