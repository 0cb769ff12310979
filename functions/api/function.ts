import {
  allowedNames,
  type FunctionDescription,
  notifiedMarker,
  route,
  schedules,
  stateMachine,
} from '../../serverless/describe/function-description.ts';
import * as allow from '../../serverless/describe/permissions.ts';
import { ROUTES } from '../core/api/routes.ts';

export const api: FunctionDescription = {
  description: 'Pipelines and runs over HTTP; IAM-authorised',
  // API Gateway waits 30 seconds.
  timeoutSeconds: 29,
  environment: { ...stateMachine, ...schedules, ...notifiedMarker, ...allowedNames },
  permissions: [
    allow.useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
    allow.onObjects(['GetObject', 'PutObject', 'DeleteObject'], 'pipelines/*'),
    allow.readObjects('*/runs/*/report.json', '*/runs/*/records/*', '*/runs/*/checkpoints/*'),
    allow.listBucket,
    ...allow.startRuns,
    allow.stopExecutions,
    ...allow.setSchedules,
  ],
  events: ROUTES.map(route),
};
