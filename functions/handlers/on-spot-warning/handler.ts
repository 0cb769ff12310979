import * as z from 'zod';
import { lambdaHandler, logger } from '../../aws/lambda/lambda-handler.ts';
import { takeSpotWarnings } from '../../run/attempts/spot-warnings.ts';
import { attemptServices } from '../../wiring/attempt-services.ts';

const input = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

export const handler = lambdaHandler('on-spot-warning', input, async ({ Records }) => {
  const { failed, notes } = await takeSpotWarnings(attemptServices(), Records);
  logger.info('spot warnings', { messages: Records.length, notes, failed });
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
});
