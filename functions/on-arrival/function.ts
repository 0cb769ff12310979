import {
  type FunctionDescription,
  queue,
  schedules,
  stateMachine,
} from '../../serverless/describe/function-description.ts';
import * as allow from '../../serverless/describe/permissions.ts';

export const onArrival: FunctionDescription = {
  description: "Starts the run of the open batch when data, a declaration or a schedule's message arrives",
  timeoutSeconds: 60,
  environment: { ...stateMachine, ...schedules },
  permissions: [
    allow.consume('ArrivalsQueue'),
    allow.readObjects('pipelines/*', '*/runs/*/report.json'),
    allow.listBucket,
    allow.useTable('GetItem', 'PutItem', 'UpdateItem'),
    ...allow.startRuns,
    ...allow.setSchedules,
  ],
  events: [queue('ArrivalsQueue', { batchSize: 100, maximumBatchingWindow: 1, maximumConcurrency: 3 })],
};
