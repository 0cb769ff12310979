import { queueHandler } from '../../aws/lambda/lambda-handler.ts';
import { takeTrainingEvents } from '../../run/attempts/take-events.ts';
import { attemptServices } from '../../wiring/attempt-services.ts';

export const handler = queueHandler('on-training-event', 'training events', (messages) =>
  takeTrainingEvents(attemptServices(), messages),
);
