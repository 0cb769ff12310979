import {
  eventBus,
  type FunctionDescription,
  queue,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const onTrainingEvent: FunctionDescription = {
  description: 'Looks at a training job when its state changed',
  timeoutSeconds: 60,
  environment: { ...stateMachine, ...eventBus },
  permissions: [allow.consume('TrainingEventsQueue'), ...allow.observeAttempts()],
  events: [queue('TrainingEventsQueue', { batchSize: 10, maximumConcurrency: 2 })],
};
