import {
  eventBus,
  type FunctionDescription,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const report: FunctionDescription = {
  description: 'Closes the run and writes what it cost',
  timeoutSeconds: 120,
  environment: { ...stateMachine, ...eventBus },
  permissions: [
    allow.onObjects(['PutObject', 'GetObject'], '*/runs/*/report.json'),
    allow.readObjects('*/runs/*/checkpoints/*'),
    // A run that fails while its job runs stops the job.
    ...allow.observeAttempts(),
  ],
};
