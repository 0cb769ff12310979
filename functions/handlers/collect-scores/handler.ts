import { priceListRegion } from '@tidewheel/catalog/prices.ts';
import { collectScores } from '@tidewheel/placement/market.ts';
import * as z from 'zod';
import { lambdaHandler, logger, withinLimit } from '../../aws/lambda/lambda-handler.ts';
import { describeHardware } from '../../aws/market/ec2-market.ts';
import { ec2ListPrices, listPrices, transferPrices } from '../../aws/market/price-list.ts';
import * as compute from '../../aws/shared/compute-clients.ts';
import { config } from '../../aws/shared/config.ts';
import { runsChangedIn } from '../../records/recent-runs.ts';
import { declaredCompute } from '../../run/ingest/register-pipeline.ts';
import { marketOf } from '../../wiring/markets.ts';
import { clock, store, tableStores } from '../../wiring/services.ts';

/** Of one declaration or run, which usually takes a fraction of a second. */
const LIMIT_SECONDS = 20;

export const handler = lambdaHandler('collect-scores', z.object({}), async () => {
  const region = config.region();
  const pricing = compute.pricing(priceListRegion(region));
  const catalog = {
    trainingPrices: (types: readonly string[], of: string) => listPrices(pricing, types, of),
    ec2Prices: (types: readonly string[], of: string) => ec2ListPrices(pricing, types, of),
    transferPrices: (from: string, others: readonly string[]) => transferPrices(pricing, from, others),
    instanceTypes: (types: readonly string[]) => describeHardware(compute.ec2(), types),
  };
  const stores = tableStores();
  const done = await collectScores({
    ...stores,
    withinLimit: (work) => withinLimit(work, LIMIT_SECONDS),
    recentRuns: (since) => runsChangedIn(stores, { from: since }),
    computeOf: (name) => declaredCompute(store(), name),
    region,
    market: marketOf,
    catalog,
    clock,
  });
  if (done.notes.length > 0) logger.warn('the market did not say everything', { notes: done.notes });
  return done;
});
