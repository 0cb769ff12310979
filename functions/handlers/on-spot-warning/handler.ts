import { queueHandler } from '../../aws/lambda/lambda-handler.ts';
import { takeSpotWarnings } from '../../run/attempts/take-events.ts';
import { attemptServices } from '../../wiring/attempt-services.ts';

export const handler = queueHandler('on-spot-warning', 'spot warnings', (messages) =>
  takeSpotWarnings(attemptServices(), messages),
);
