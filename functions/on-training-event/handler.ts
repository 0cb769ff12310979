import * as z from 'zod';
import { attemptServices } from '../aws/lambda/attempt-services.ts';
import { lambdaHandler, logger } from '../aws/lambda/lambda-handler.ts';
import { takeTrainingEvents } from '../core/attempts/training-events.ts';

const input = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

export const handler = lambdaHandler('on-training-event', input, async ({ Records }) => {
  const { failed, notes } = await takeTrainingEvents(attemptServices(), Records);
  logger.info('training events', { messages: Records.length, notes, failed });
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
});
