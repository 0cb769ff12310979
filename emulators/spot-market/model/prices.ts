/** Spot prices that follow the capacity: near the catalog's while there is plenty, dearer as a pool runs dry. */

import type { CapacityPlan, MarketSecond } from './capacity-plan.ts';
import type { MarketTime } from './market-time.ts';
import { listPrice, type MarketPool } from './offers.ts';
import { uniform, uniformOf } from './seeded-by-name.ts';

interface PricePoint {
  readonly at: MarketSecond;
  readonly usd: number;
}

export interface SpotPrices {
  /** USD per instance hour in force at that moment; undefined where the catalog knows no price. */
  readonly priceAt: (pool: MarketPool, at: MarketSecond) => number | undefined;
  /** Change points from the last one at or before `from` to `until`, oldest first. */
  readonly history: (pool: MarketPool, from: MarketSecond, until: MarketSecond) => readonly PricePoint[];
  /** Spot over On-Demand now; 1 where nothing is known. */
  readonly spotDiscount: (instanceType: string, zoneId: string) => number;
}

const HOUR_SECONDS = 3_600;
/** Prices wander by so much, in steps some hours apart. */
const DRIFT = 0.08;
/** A pool with this many instances or more is not scarce. */
const AMPLE = 8;
/** What the last instance costs more than one of many. */
const SCARCITY = 0.6;
/** EC2 keeps 90 days. */
const KEPT_SECONDS = 90 * 24 * HOUR_SECONDS;

export function makePrices(seed: number, plan: CapacityPlan, time: MarketTime): SpotPrices {
  const driftOf = (pool: MarketPool): Drift => {
    const draw = uniformOf(seed, pool.instanceType, pool.zoneId);
    const length = Math.round((4 + 5 * draw()) * HOUR_SECONDS);
    return { length, offset: Math.round(length * draw()) };
  };
  const driftAt = (pool: MarketPool, at: MarketSecond): number =>
    1 + DRIFT * (2 * uniform(seed, pool.instanceType, pool.zoneId, slotOf(driftOf(pool), at)) - 1);

  const priceAt = (pool: MarketPool, at: MarketSecond): number | undefined => {
    const list = listPrice(pool);
    if (!list) return undefined;
    const scarcity = Math.max(0, 1 - plan.capacityAt(pool, at) / AMPLE);
    const usd = list.spotUsd * driftAt(pool, at) * (1 + SCARCITY * scarcity);
    // Spot never costs more than On-Demand.
    return Math.round(Math.min(list.onDemandUsd, usd) * 10_000) / 10_000;
  };

  const nextChange = (pool: MarketPool, at: MarketSecond): MarketSecond => {
    const drift = driftOf(pool);
    const next = startOf(drift, slotOf(drift, at) + 1);
    return Math.min(next, plan.nextChange(pool, at) ?? next);
  };

  const history = (pool: MarketPool, from: MarketSecond, until: MarketSecond): readonly PricePoint[] => {
    const drift = driftOf(pool);
    const points: PricePoint[] = [];
    // The price in force at `from` began at its drift step at the latest; nothing is older than the first one asked.
    let at = startOf(drift, slotOf(drift, Math.max(from, until - KEPT_SECONDS)));
    while (at <= until) {
      const usd = priceAt(pool, at);
      if (usd === undefined) return [];
      if (points.at(-1)?.usd !== usd) points.push({ at, usd });
      at = nextChange(pool, at);
    }
    const first = points.findLastIndex((point) => point.at <= from);
    return points.slice(Math.max(0, first));
  };

  return {
    priceAt,
    history,
    spotDiscount: (instanceType, zoneId) => {
      const pool = { instanceType, zoneId };
      const price = priceAt(pool, time.now());
      const list = listPrice(pool);
      return price === undefined || !list ? 1 : price / list.onDemandUsd;
    },
  };
}

/** The catalog's prices, whatever the capacity. */
export function steadyPrices(): SpotPrices {
  const usdOf = (pool: MarketPool): number | undefined => listPrice(pool)?.spotUsd;
  return {
    priceAt: usdOf,
    history: (pool, from) => {
      const usd = usdOf(pool);
      return usd === undefined ? [] : [{ at: from, usd }];
    },
    spotDiscount: (instanceType, zoneId) => {
      const list = listPrice({ instanceType, zoneId });
      return list ? list.spotUsd / list.onDemandUsd : 1;
    },
  };
}

/** The price of a pool moves at steps of its own. */
interface Drift {
  readonly length: number;
  readonly offset: number;
}

const slotOf = ({ length, offset }: Drift, at: MarketSecond): number => Math.floor((at + offset) / length);
const startOf = ({ length, offset }: Drift, slot: number): MarketSecond => slot * length - offset;
