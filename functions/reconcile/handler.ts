import * as z from 'zod';
import { attemptServices } from '../aws/lambda/attempt-services.ts';
import { countPartialFailures, lambdaHandler, logger } from '../aws/lambda/lambda-handler.ts';
import { schedules } from '../aws/lambda/services.ts';
import { marketOf } from '../aws/market/markets.ts';
import { inParallel } from '../aws/s3/parallel-lists.ts';
import { config } from '../aws/shared/config.ts';
import { withinLimit } from '../aws/shared/within-limit.ts';
import { reconcile } from '../core/attempts/reconcile.ts';

/** Of one attempt or run, which usually takes a second. */
const LIMIT_SECONDS = 30;

const input = z.object({ sweep: z.boolean().optional() });

export const handler = lambdaHandler('reconcile', input, async ({ sweep }, context) => {
  const services = attemptServices();
  const deps = {
    ...services,
    store: inParallel(services.store),
    schedules: schedules(),
    notifiedMarker: config.notifiedMarker(),
    allowed: config.allowed(),
    market: marketOf(config.region()),
    withinLimit: (work: Promise<void>) => withinLimit(work, LIMIT_SECONDS),
  };
  const done = await reconcile(deps, { sweep: sweep ?? false });
  const { failures } = done;
  if (failures.length > 0) logger.error('could not reconcile everything', { failures });
  countPartialFailures(context, failures.length);
  return done;
});
