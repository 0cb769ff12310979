/** Why a pool that a topology could run in is not considered. */

import type { OnDemandPrice } from '../model/market-source.ts';
import type { Pool } from '../placement-records.ts';
import type { Quotes } from './pool-prices.ts';

interface Facts {
  readonly price: OnDemandPrice | undefined;
  readonly helpers: number | string;
  readonly quotes: Quotes;
  readonly region: string;
}

/** Undefined: its price is known and the zone offers it. */
export function whyNotWeighed(pool: Pool, { price, helpers, quotes, region }: Facts): string | undefined {
  const { instanceType, zoneId } = pool;
  if (!price) return `no price of ${instanceType} is known, so its cost cannot be weighed`;
  if (typeof helpers === 'string') return helpers;
  return notOffered(pool, quotes) ? `${instanceType} is not offered in ${zoneId ?? region}` : undefined;
}

/** A type with live Spot prices in some zones is offered only there; no live price anywhere says nothing. */
function notOffered({ instanceType, zoneId }: Pool, quotes: Quotes): boolean {
  if (zoneId === undefined) return false;
  const offered = quotes.get(instanceType)?.filter((each) => each.basis === 'quoted') ?? [];
  return offered.length > 0 && !offered.some((each) => each.zoneId === zoneId);
}
