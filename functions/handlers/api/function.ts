import {
  allowedNames,
  eventBus,
  type FunctionDescription,
  notifiedMarker,
  people,
  route,
  scheduleVariables,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';
import { API_ROUTES } from '../../api/answer.ts';

export const api: FunctionDescription = {
  description: 'Pipelines and runs over HTTP, for IAM identities and for people with a token',
  // API Gateway waits 30 seconds.
  timeoutSeconds: 29,
  environment: {
    ...stateMachine,
    ...scheduleVariables,
    ...notifiedMarker,
    ...allowedNames,
    ...people,
    ...eventBus,
  },
  permissions: [
    allow.useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
    allow.onObjects(['GetObject', 'PutObject', 'DeleteObject'], 'pipelines/*'),
    allow.readObjects(
      '*/runs/*/report.json',
      '*/runs/*/judgement.json',
      '*/runs/*/records/*',
      '*/runs/*/checkpoints/*',
    ),
    // What a dataset holds. A person sees single images of it, and of rejected arrivals.
    allow.readObjects('*/dataset/*', '*/incoming/*'),
    // A retry: the source is pinned again, and the run's copy of its close names the retry.
    allow.onObjects(['DeleteObject'], '*/runs/*/source.json'),
    allow.onObjects(['PutObject'], '*/runs/*/records/close.json'),
    // A person decides which model is in use; one that is not on record yet is read for its digest.
    ...allow.chooseModels,
    allow.readObjects('*/runs/*/models/*'),
    allow.putEvents,
    allow.listBucket,
    allow.readJobLogs,
    ...allow.startRuns,
    allow.stopExecutions,
    ...allow.setSchedules,
  ],
  events: API_ROUTES.map(route),
  files: ['docs/openapi.json'],
};
