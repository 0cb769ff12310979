import {
  every,
  type FunctionDescription,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const expireRuns: FunctionDescription = {
  description: 'Deletes what finished runs no longer need',
  timeoutSeconds: 900,
  environment: stateMachine,
  permissions: [
    allow.useTable('UpdateItem', 'Query'),
    allow.describeRuns,
    allow.listBucket,
    allow.onObjects(
      ['DeleteObject'],
      '*/runs/*/plan/*',
      '*/runs/*/map/*',
      '*/runs/*/reads/*',
      '*/runs/*/files/*',
      '*/dataset/drawn/*',
      '*/runs/*/checkpoints/*',
      '*/sources/*',
    ),
  ],
  events: [every('1 day', {})],
};
