import * as z from 'zod';
import { countPartialFailures, lambdaHandler, logger, withinLimit } from '../../aws/lambda/lambda-handler.ts';
import { inParallel } from '../../aws/s3/parallel-lists.ts';
import { config } from '../../aws/shared/config.ts';
import { reconcile } from '../../run/attempts/reconcile.ts';
import { attemptServices } from '../../wiring/attempt-services.ts';
import { reservations, scores } from '../../wiring/markets.ts';
import { schedules } from '../../wiring/services.ts';

const input = z.object({ sweep: z.boolean().optional() });

export const handler = lambdaHandler('reconcile', input, async ({ sweep }, context) => {
  const services = attemptServices();
  const deps = {
    ...services,
    store: inParallel(services.store),
    schedules: schedules(),
    notifiedMarker: config.notifiedMarker(),
    allowed: config.allowed(),
    market: scores(),
    reservations: reservations(),
    withinLimit,
  };
  const done = await reconcile(deps, { sweep: sweep ?? false });
  const { failures } = done;
  if (failures.length > 0) logger.error('could not reconcile everything', { failures });
  countPartialFailures(context, failures.length);
  return done;
});
