/** The market of each region. It is not in services.ts, because its price tables would be in every bundle. */
import { once } from '@tidewheel/kit/once.ts';
import type { MarketSource } from '@tidewheel/placement/market.ts';
import { ec2Market, ec2Scores } from '../aws/market/ec2-market.ts';
import { offerSource } from '../aws/market/offers.ts';
import { reservationSource } from '../aws/market/reservations.ts';
import * as compute from '../aws/shared/compute-clients.ts';
import { config } from '../aws/shared/config.ts';
import { clock } from './services.ts';

/** One per process and region, so that a question goes to AWS again only after its answer expires. */
const markets = new Map<string, MarketSource>();

export function marketOf(region: string): MarketSource {
  const ec2 = region === config.region() ? compute.ec2() : compute.ec2In(region);
  const market = markets.get(region) ?? ec2Market({ ec2, region, clock });
  markets.set(region, market);
  return market;
}

/** Reads what is reserved in the data's own region. */
export const reservations = /* @__PURE__ */ once(() =>
  reservationSource({
    ec2: compute.ec2,
    sageMaker: compute.sageMaker,
    region: config.region(),
    accountId: config.account(),
  }),
);

/** Searches what could be reserved in the data's own region. */
export const capacityOffers = /* @__PURE__ */ once(() =>
  offerSource({ ec2: compute.ec2, sageMaker: compute.sageMaker }),
);

/** Reads scores in the data's own region, without the price tables. */
export const scores = /* @__PURE__ */ once(() =>
  ec2Scores({ ec2: compute.ec2(), region: config.region(), clock }),
);
