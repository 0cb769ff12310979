import {
  allowedNames,
  type FunctionDescription,
  notifiedMarker,
  queue,
  scheduleVariables,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const onArrival: FunctionDescription = {
  description: "Starts the run of the open batch when data, a declaration or a schedule's message arrives",
  timeoutSeconds: 60,
  environment: { ...stateMachine, ...scheduleVariables, ...notifiedMarker, ...allowedNames },
  permissions: [
    allow.consume('ArrivalsQueue'),
    allow.readObjects('pipelines/*', '*/runs/*/report.json', '*/runs/*/records/*', '*/models/current.json'),
    allow.writeObjects('*/notified/*'),
    allow.listBucket,
    allow.useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
    ...allow.startRuns,
    ...allow.setSchedules,
  ],
  // S3 takes 3,500 PUTs a second under a prefix. A batch of 1,000 notifications is 1 MB of the 6 MB of an invocation.
  events: [queue('ArrivalsQueue', { batchSize: 1_000, maximumBatchingWindow: 1, maximumConcurrency: 3 })],
};
