/** The pools a pipeline allows, each with what is known of it; what is pruned keeps its reason. */
import type { Pipeline } from '../pipeline.ts';
import type { Pool } from '../records.ts';
import type { MarketView, OnDemandPrice } from './port.ts';

export interface Candidate {
  readonly pool: Pool;
  readonly subnetId?: string | undefined;
  readonly score?: number | undefined;
  /** Price of one node of this pool, and of the same node on demand. */
  readonly hourlyUsd: number;
  readonly onDemandHourlyUsd: number;
  /** How the price is known, for the verdict. */
  readonly priceNote: string;
}

export interface Pruned {
  readonly pool: Pool;
  readonly reason: string;
}

/** Where no Spot price is known, this share of On-Demand is taken; about the middle of the snapshot's G and P families. */
export const ASSUMED_SPOT_SHARE = 0.45;

interface Place {
  readonly zoneId?: string | undefined;
  readonly subnetId?: string | undefined;
}

/** With a VPC one place per zone (its first subnet); without one SageMaker chooses the zone. */
export function placesOf(compute: Pipeline['compute']): readonly Place[] {
  if (!compute.vpc) return [{}];
  const byZone = new Map<string, Place>();
  for (const { id, zoneId } of compute.vpc.subnets) {
    if (!byZone.has(zoneId)) byZone.set(zoneId, { zoneId, subnetId: id });
  }
  return [...byZone.values()];
}

export const marketsOf = (compute: Pipeline['compute']): readonly Pool['market'][] =>
  compute.market === 'spot-then-on-demand' ? ['spot', 'on-demand'] : [compute.market];

export function poolsOf(
  compute: Pipeline['compute'],
  market: MarketView,
): { readonly candidates: readonly Candidate[]; readonly pruned: readonly Pruned[] } {
  const candidates: Candidate[] = [];
  const pruned: Pruned[] = [];
  for (const instanceType of new Set(compute.instanceTypes)) {
    const price = market.onDemandPrices.find((each) => each.instanceType === instanceType);
    for (const place of placesOf(compute)) {
      for (const kind of marketsOf(compute)) {
        const pool: Pool = { instanceType, zoneId: place.zoneId, market: kind };
        if (!price) {
          pruned.push({
            pool,
            reason: `no price of ${instanceType} is known, so its cost cannot be weighed`,
          });
        } else if (kind === 'spot' && compute.helpers && !compute.spotWithHelpers) {
          pruned.push({
            pool,
            reason:
              'AWS does not say whether Spot takes helper groups: set compute.spotWithHelpers: true to try',
          });
        } else if (notOffered(pool, market)) {
          pruned.push({ pool, reason: `${instanceType} is not offered in ${place.zoneId ?? market.region}` });
        } else {
          candidates.push(candidateOf(pool, place, price, market));
        }
      }
    }
  }
  return { candidates, pruned };
}

/** A type with live Spot prices in some zones is offered in those only; no live price at all says nothing. */
function notOffered(pool: Pool, market: MarketView): boolean {
  if (pool.zoneId === undefined) return false;
  const offered = market.spotPrices.filter(
    (each) => each.instanceType === pool.instanceType && each.basis === 'asked',
  );
  return offered.length > 0 && !offered.some((each) => each.zoneId === pool.zoneId);
}

function candidateOf(pool: Pool, place: Place, price: OnDemandPrice, market: MarketView): Candidate {
  const shared = { pool, subnetId: place.subnetId, onDemandHourlyUsd: price.hourlyUsd };
  if (pool.market === 'on-demand') return { ...shared, hourlyUsd: price.hourlyUsd, priceNote: price.note };
  const share = spotShare(pool, price, market);
  return {
    ...shared,
    score: scoreOf(pool, market),
    hourlyUsd: price.hourlyUsd * (share ?? ASSUMED_SPOT_SHARE),
    priceNote:
      share === undefined
        ? `no Spot price known, ${ASSUMED_SPOT_SHARE * 100} % of On-Demand assumed`
        : `EC2's Spot share of ${(share * 100).toFixed(0)} % taken for SageMaker's`,
  };
}

/** Per hour of all helper groups; a type without a known price counts as free, and the market's notes name it. */
export const helpersHourlyUsd = (compute: Pipeline['compute'], market: MarketView): number | undefined =>
  compute.helpers?.reduce((sum, { instanceType, nodes }) => {
    const price = market.onDemandPrices.find((each) => each.instanceType === instanceType);
    return sum + nodes * (price?.hourlyUsd ?? 0);
  }, 0);

/** Where SageMaker chooses the zone it is the best one's score: a gang always ends up in one zone. */
function scoreOf(pool: Pool, market: MarketView): number | undefined {
  const scores = market.scores.filter((each) => pool.zoneId === undefined || each.zoneId === pool.zoneId);
  return scores.length === 0 ? undefined : Math.max(...scores.map((each) => each.score));
}

/** EC2 Spot over EC2 On-Demand: SageMaker publishes no Spot price. Without a zone the mean over the region's zones. */
function spotShare(pool: Pool, price: OnDemandPrice, market: MarketView): number | undefined {
  const quotes = market.spotPrices.filter(
    (each) =>
      each.instanceType === pool.instanceType && (pool.zoneId === undefined || each.zoneId === pool.zoneId),
  );
  if (quotes.length === 0 || price.ec2HourlyUsd === undefined || price.ec2HourlyUsd <= 0) return undefined;
  const mean = quotes.reduce((sum, each) => sum + each.hourlyUsd, 0) / quotes.length;
  return Math.min(1, mean / price.ec2HourlyUsd);
}
