import * as z from 'zod';
import { lambdaHandler, logger } from '../aws/lambda/lambda-handler.ts';
import { attemptServices } from '../aws/lambda/services.ts';
import { marketOf } from '../aws/market/markets.ts';
import { config } from '../aws/shared/config.ts';
import { handOver, reconcile } from '../core/attempts/reconcile.ts';

const input = z.object({
  sweep: z.boolean().optional(),
  handOver: z.object({ runId: z.string(), from: z.string() }).optional(),
});

export const handler = lambdaHandler('reconcile', input, async ({ sweep, handOver: run }) => {
  const deps = { ...attemptServices(), market: marketOf(config.region()) };
  if (run) {
    await handOver(deps, run);
    return { handedOver: run.runId };
  }
  const done = await reconcile(deps, { sweep: sweep ?? false });
  if (done.failures.length > 0) logger.error('could not reconcile everything', { failures: done.failures });
  return done;
});
