import {
  eventBus,
  type FunctionDescription,
  queue,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const onSpotWarning: FunctionDescription = {
  description: 'Has hosts on EC2 save when EC2 will reclaim one of them',
  timeoutSeconds: 60,
  environment: { ...stateMachine, ...eventBus },
  permissions: [
    allow.consume('SpotWarningsQueue'),
    allow.consume('HostStatesQueue'),
    ...allow.observeAttempts(),
    ...allow.replaceHosts,
  ],
  events: [
    queue('SpotWarningsQueue', { batchSize: 10, maximumConcurrency: 2 }),
    queue('HostStatesQueue', { batchSize: 10, maximumConcurrency: 2 }),
  ],
};
