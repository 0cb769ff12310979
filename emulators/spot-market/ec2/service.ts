/** What the actions share: the question, the market behind it, and the shape of an answer. */
import type { Leases } from '../model/leases.ts';
import type { MarketTime } from '../model/market-time.ts';
import type { SpotPrices } from '../model/prices.ts';
import type { Reservations } from '../model/reservations.ts';
import type { ConfigurationLimit } from './configuration-limit.ts';
import type { Ec2Query } from './query.ts';
import type { Xml } from './xml.ts';

export interface MarketState {
  readonly time: MarketTime;
  readonly prices: SpotPrices;
  readonly leases: Leases;
  readonly configurations: ConfigurationLimit;
  readonly reservations: Reservations;
}

export interface ServiceRequest {
  readonly query: Ec2Query;
  /** From the request's credential scope, as a regional endpoint would be. */
  readonly region: string;
  readonly nowMs: number;
  readonly market: MarketState;
}

export type Ec2Answer = { readonly [name: string]: Xml };
