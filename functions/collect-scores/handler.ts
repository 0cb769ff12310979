import * as z from 'zod';
import * as clients from '../aws/clients.ts';
import { config } from '../aws/config.ts';
import { ec2Market } from '../aws/market.ts';
import { logger, onion } from '../aws/onion.ts';
import { listPrices } from '../aws/price-list.ts';
import { clock, runs, store } from '../aws/services.ts';
import { priceListRegion } from '../core/catalog/price-list.ts';
import { collectScores } from '../core/placement/collect.ts';

export const handler = onion('collect-scores', z.object({}), async () => {
  const market = ec2Market({ ec2: clients.ec2(), region: config.region(), clock });
  const region = config.region();
  const pricing = clients.pricing(priceListRegion(region));
  const done = await collectScores({
    runs: runs(),
    store: store(),
    market,
    listPrices: (types) => listPrices(pricing, types, region),
    clock,
  });
  if (done.notes.length > 0) logger.warn('the market did not say everything', { notes: done.notes });
  return done;
});
