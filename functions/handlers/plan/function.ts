import { arnOf, sub } from '../../../serverless/describe/cloudformation.ts';
import {
  allowedNames,
  type FunctionDescription,
  notifiedMarker,
  people,
  route,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';
import { planRun } from '../../api/operations/plan-run.ts';

/** Roles whose rights are tried in IAM's policy simulator, which tries nothing itself. */
const TRIED_ROLES = ['LaunchRole', 'PackShardsRole', 'OnArrivalRole'] as const;
const TRIED = [...TRIED_ROLES, 'TrainingPolicy'].map((id) => `"${id}":"\${${id}}"`).join(',');

export const plan: FunctionDescription = {
  description: 'Says what a run would do, cost and miss; starts nothing',
  // API Gateway waits 30 seconds.
  timeoutSeconds: 29,
  memoryMegabytes: 1769,
  environment: {
    ...stateMachine,
    ...notifiedMarker,
    ...allowedNames,
    ...people,
    TIDEWHEEL_STAGE: '${self:provider.stage}',
    TIDEWHEEL_TRIED_ROLES: sub(`{${TRIED}}`),
  },
  permissions: [
    allow.useTable('GetItem', 'PutItem', 'Query'),
    allow.listBucket,
    allow.listBucketElsewhere,
    // Declarations, arrivals, packed data, the ranges that planners have listed, and which runs delete what they packed.
    allow.readObjects('pipelines/*', '*/incoming/*', '*/dataset/*', '*/notified/*', '*/runs/*/plan/*'),
    allow.readObjects('*/runs/*/deletion.json'),
    ...allow.lookAtAccount,
    ...allow.describeReservations,
    ...allow.searchOffers,
    allow.statement('iam', ['SimulatePrincipalPolicy'], TRIED_ROLES.map(arnOf)),
  ],
  events: [route(planRun.route)],
};
