import { type FunctionDescription, stateMachine } from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const startNextExecution: FunctionDescription = {
  description: 'Continues a run in its next execution before the present one is full',
  timeoutSeconds: 60,
  environment: stateMachine,
  permissions: [allow.useTable('GetItem', 'PutItem', 'UpdateItem'), ...allow.startRuns],
};
