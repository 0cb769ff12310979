import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { regionPaths, whyClosed } from '../../aws/s3/region-buckets.ts';
import { config } from '../../aws/shared/config.ts';
import { place } from '../../run/attempts/place.ts';
import { capacityOffers, marketOf, reservations } from '../../wiring/markets.ts';
import { clock, store, tableStores } from '../../wiring/services.ts';

export const handler = lambdaHandler('place', z.object({ runId: z.string() }), ({ runId }) => {
  const regions = {
    market: marketOf,
    whyClosed: (region: string) => whyClosed(region, regionPaths(region)),
  };
  const deps = {
    ...tableStores(),
    market: marketOf(config.region()),
    reservations: reservations(),
    offers: capacityOffers(),
    store: store(),
    regions,
    clock,
  };
  return place(deps, { runId });
});
