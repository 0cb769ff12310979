import * as z from 'zod';
import { lambdaHandler, logger } from '../../aws/lambda/lambda-handler.ts';
import { takeTrainingEvents } from '../../run/attempts/training-events.ts';
import { attemptServices } from '../../wiring/attempt-services.ts';

const input = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

export const handler = lambdaHandler('on-training-event', input, async ({ Records }) => {
  const { failed, notes } = await takeTrainingEvents(attemptServices(), Records);
  logger.info('training events', { messages: Records.length, notes, failed });
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
});
