/** What an hour in a pool costs and how well that is known. SageMaker publishes no Spot price: EC2's share stands for it. */
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { Pool, Topology } from '../../runs/run-records.ts';
import type { MarketView, OnDemandPrice, PlacementScore } from '../model/market-source.ts';

/** Where no Spot price is known, this share of On-Demand is taken; about the middle of the snapshot's G and P families. */
export const ASSUMED_SPOT_SHARE = 0.45;
export interface PoolPrices {
  readonly score?: number | undefined;
  /** Absent: of this moment. */
  readonly scoreAgeSeconds?: number | undefined;
  /** Price of one node of this pool, and of the same node on demand. */
  readonly hourlyUsd: number;
  readonly onDemandHourlyUsd: number;
  /** How the price is known, for the verdict. */
  readonly priceNote: string;
}

export type Quotes = ReadonlyMap<string, MarketView['spotPrices']>;

export const quotesOf = (market: MarketView): Quotes =>
  Map.groupBy(market.spotPrices, ({ instanceType }) => instanceType);

export function pricesOf(
  { pool, topology }: { readonly pool: Pool; readonly topology: Topology },
  price: OnDemandPrice,
  market: MarketView,
  quotes: Quotes,
): PoolPrices {
  if (pool.launcher === 'ec2') return onEc2({ pool, topology }, price, market, quotes);
  const { hourlyUsd } = price;
  if (pool.purchaseOption === 'on-demand')
    return { hourlyUsd, onDemandHourlyUsd: hourlyUsd, priceNote: price.note };
  const share = spotShare(pool, price, quotes);
  return {
    ...scoreOf(pool, topology.nodes, market),
    hourlyUsd: hourlyUsd * (share ?? ASSUMED_SPOT_SHARE),
    onDemandHourlyUsd: hourlyUsd,
    priceNote:
      share === undefined
        ? `no Spot price known, ${ASSUMED_SPOT_SHARE * 100} % of On-Demand assumed`
        : `EC2's Spot share of ${(share * 100).toFixed(0)} % taken for SageMaker's`,
  };
}

/** EC2 states both prices itself. A pool without EC2's On-Demand price is left out before (`pools.ts`). */
function onEc2(
  { pool, topology }: { readonly pool: Pool; readonly topology: Topology },
  { ec2HourlyUsd = 0, ec2Note }: OnDemandPrice,
  market: MarketView,
  quotes: Quotes,
): PoolPrices {
  if (pool.purchaseOption === 'on-demand') {
    const priceNote = `EC2 On-Demand${ec2Note === undefined ? '' : `, ${ec2Note}`}`;
    return { hourlyUsd: ec2HourlyUsd, onDemandHourlyUsd: ec2HourlyUsd, priceNote };
  }
  const here = quotesFor(pool, quotes);
  const isOld = here.some(({ basis }) => basis === 'snapshot');
  return {
    ...scoreOf(pool, topology.nodes, market),
    hourlyUsd: mean(here) ?? ec2HourlyUsd * ASSUMED_SPOT_SHARE,
    onDemandHourlyUsd: ec2HourlyUsd,
    priceNote:
      here.length === 0
        ? `no Spot price known, ${ASSUMED_SPOT_SHARE * 100} % of On-Demand assumed`
        : `EC2's own Spot price${isOld ? ', of the snapshot' : ''}`,
  };
}

const quotesFor = ({ instanceType, zoneId }: Pool, all: Quotes): MarketView['spotPrices'] =>
  all.get(instanceType)?.filter((each) => zoneId === undefined || each.zoneId === zoneId) ?? [];

const mean = (quotes: MarketView['spotPrices']): number | undefined =>
  quotes.length === 0 ? undefined : quotes.reduce((sum, each) => sum + each.hourlyUsd, 0) / quotes.length;

export interface HelpersQuestion {
  readonly compute: Pick<Pipeline['compute'], 'helpers'>;
  /** Where a view does not name the prices of helpers, as in decisions of old. */
  readonly helpersHourlyUsd?: number | undefined;
}

/** Per hour of all helper groups, or why it cannot be known: what has no price is not free. */
export function helpersIn(
  market: MarketView,
  { compute, helpersHourlyUsd }: HelpersQuestion,
): number | string {
  let sum = 0;
  for (const { name, instanceType, nodes } of compute.helpers ?? []) {
    const price = market.onDemandPrices.find((each) => each.instanceType === instanceType);
    if (price === undefined)
      return (
        helpersHourlyUsd ??
        `no price of ${instanceType} in ${market.region} is known, which the helper group "${name}" runs on: name another type`
      );
    sum += nodes * price.hourlyUsd;
  }
  return sum;
}

/** Where SageMaker chooses the zone it is the best one's score: a gang always ends up in one zone. */
function scoreOf(
  { zoneId }: Pool,
  nodes: number,
  market: MarketView,
): Pick<PoolPrices, 'score' | 'scoreAgeSeconds'> {
  const best = market.scores
    .filter((each) => (zoneId === undefined || each.zoneId === zoneId) && (each.nodes ?? nodes) === nodes)
    .reduce<PlacementScore | undefined>(
      (most, each) => (most !== undefined && most.score >= each.score ? most : each),
      undefined,
    );
  return best === undefined ? {} : { score: best.score, scoreAgeSeconds: best.ageSeconds };
}

/** EC2 Spot over EC2 On-Demand: SageMaker publishes no Spot price. Without a zone the mean over the region's zones. */
function spotShare(pool: Pool, price: OnDemandPrice, all: Quotes): number | undefined {
  const spot = mean(quotesFor(pool, all));
  if (spot === undefined || price.ec2HourlyUsd === undefined || price.ec2HourlyUsd <= 0) return undefined;
  return Math.min(1, spot / price.ec2HourlyUsd);
}
