import * as z from 'zod';
import { lambdaHandler, logger } from '../../aws/lambda/lambda-handler.ts';
import { config } from '../../aws/shared/config.ts';
import { takeArrivals } from '../../run/ingest/take-arrivals.ts';
import { clock, executions, schedules, store, tableStores } from '../../wiring/services.ts';

const input = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

export const handler = lambdaHandler('on-arrival', input, async ({ Records }) => {
  const { failed, notes } = await takeArrivals(
    {
      ...tableStores(),
      store: store(),
      executions: executions(),
      schedules: schedules(),
      clock,
      notifiedMarker: config.notifiedMarker(),
      allowed: config.allowed(),
    },
    Records,
  );
  logger.info('arrivals', { messages: Records.length, notes, failed });
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
});
