/** The pools a pipeline allows, each with what is known of it; what is pruned keeps its reason. */
import type { Pipeline } from '../pipeline.ts';
import type { Pool, Topology, Transfer } from '../records.ts';
import { type Pace, REFERENCE_PACE } from './pace.ts';
import type { MarketView, OnDemandPrice } from './port.ts';
import { type GangTopology, topologiesOf } from './topologies.ts';

export interface Candidate {
  readonly pool: Pool;
  readonly topology: Topology;
  readonly pace: Pace;
  readonly subnetId?: string | undefined;
  readonly score?: number | undefined;
  /** Price of one node of this pool, and of the same node on demand. */
  readonly hourlyUsd: number;
  readonly onDemandHourlyUsd: number;
  /** Of all helper groups together, which are always on demand. */
  readonly helpersHourlyUsd: number;
  /** Absent in the data's own region. */
  readonly transfer?: Transfer | undefined;
  /** How the price is known, for the verdict. */
  readonly priceNote: string;
  /** Why nothing can be launched here: weighed and shown, never chosen. */
  readonly closed?: string | undefined;
}

export interface Pruned {
  readonly pool: Pool;
  readonly topology: Topology;
  readonly reason: string;
}

/** Another region that the pipeline names. */
export interface RegionView {
  readonly market: MarketView;
  readonly transfer: Transfer;
  readonly vpc?: Pipeline['compute']['vpc'];
  /** Why nothing can be launched there; its pools are weighed and shown all the same. */
  readonly closed?: string | undefined;
}

export interface PoolsQuestion {
  readonly compute: Pipeline['compute'];
  readonly training?: Pipeline['training'] | undefined;
  readonly market: MarketView;
  readonly elsewhere?: readonly RegionView[] | undefined;
  readonly savedOn?: GangTopology | undefined;
  /** Where a view does not name the prices of helpers, as in decisions of old. */
  readonly helpersHourlyUsd?: number | undefined;
  readonly paceOf?: ((topology: GangTopology) => Pace) | undefined;
}

/** Where no Spot price is known, this share of On-Demand is taken; about the middle of the snapshot's G and P families. */
export const ASSUMED_SPOT_SHARE = 0.45;
/** So many are weighed in full; those beyond are the dearest for their speed, on demand. */
const MAXIMUM_POOLS = 300;

interface Place {
  readonly zoneId?: string | undefined;
  readonly subnetId?: string | undefined;
}

/** With a VPC one place per zone (its first subnet); without one SageMaker chooses the zone. */
export function placesOf({ vpc }: Pick<Pipeline['compute'], 'vpc'>): readonly Place[] {
  if (!vpc) return [{}];
  const byZone = new Map<string, Place>();
  for (const { id, zoneId } of vpc.subnets) {
    if (!byZone.has(zoneId)) byZone.set(zoneId, { zoneId, subnetId: id });
  }
  return [...byZone.values()];
}

export const marketsOf = (compute: Pipeline['compute']): readonly Pool['market'][] =>
  compute.market === 'spot-then-on-demand' ? ['spot', 'on-demand'] : [compute.market];

interface Pools {
  readonly candidates: readonly Candidate[];
  readonly pruned: readonly Pruned[];
}

export function poolsOf(question: PoolsQuestion): Pools {
  const { compute, market, elsewhere = [] } = question;
  const leftOut = compute.regions?.every(({ name }) => name !== market.region) ?? false;
  const closed = leftOut ? `compute.regions does not name ${market.region}` : undefined;
  const views: readonly View[] = [
    { market, vpc: compute.vpc, closed },
    ...elsewhere.map((each) => ({ ...each, region: each.market.region })),
  ];
  const found = views.map((view) => poolsIn(view, question));
  return mostPromising(
    found.flatMap(({ candidates }) => candidates),
    found.flatMap(({ pruned }) => pruned),
  );
}

interface View {
  readonly market: MarketView;
  readonly vpc?: Pipeline['compute']['vpc'];
  readonly transfer?: Transfer | undefined;
  readonly closed?: string | undefined;
  /** Absent for the data's own. */
  readonly region?: string | undefined;
}

function poolsIn(view: View, question: PoolsQuestion): Pools {
  const { compute, training, savedOn, paceOf } = question;
  const { market } = view;
  const { topologies, ruledOut } = topologiesOf({ compute, training, region: market.region, savedOn });
  const pruned: Pruned[] = ruledOut.map(({ topology, reason }) => ({
    pool: {
      instanceType: topology.instanceType,
      market: marketsOf(compute)[0] ?? 'spot',
      region: view.region,
    },
    topology: shapeOf(topology),
    reason,
  }));
  const candidates: Candidate[] = [];
  const helpers = helpersIn(market, question);
  const prices = new Map(market.onDemandPrices.map((each) => [each.instanceType, each]));
  const quotes = quotesOf(market);
  for (const topology of topologies) {
    const price = prices.get(topology.instanceType);
    const pace = paceOf?.(topology) ?? REFERENCE_PACE;
    for (const place of placesOf(view)) {
      for (const kind of marketsOf(compute)) {
        const pool: Pool = {
          instanceType: topology.instanceType,
          zoneId: place.zoneId,
          market: kind,
          ...(view.region === undefined ? {} : { region: view.region }),
        };
        const reason = whyNot(pool, { compute, price, helpers, quotes, region: market.region });
        if (reason !== undefined || price === undefined || typeof helpers === 'string') {
          pruned.push({ pool, topology: shapeOf(topology), reason: reason ?? 'no price is known' });
        } else {
          const found = {
            pool,
            topology: shapeOf(topology),
            pace,
            subnetId: place.subnetId,
            transfer: view.transfer,
            closed: view.closed,
          };
          candidates.push({ ...found, helpersHourlyUsd: helpers, ...pricesOf(found, price, market, quotes) });
        }
      }
    }
  }
  return { candidates, pruned };
}

const shapeOf = ({ nodes, acceleratorsPerNode }: GangTopology): Topology => ({ nodes, acceleratorsPerNode });

type Quotes = ReadonlyMap<string, MarketView['spotPrices']>;

const quotesOf = (market: MarketView): Quotes =>
  Map.groupBy(market.spotPrices, ({ instanceType }) => instanceType);

interface Facts {
  readonly compute: Pipeline['compute'];
  readonly price: OnDemandPrice | undefined;
  readonly helpers: number | string;
  readonly quotes: Quotes;
  readonly region: string;
}

function whyNot(pool: Pool, { compute, price, helpers, quotes, region }: Facts): string | undefined {
  const { instanceType, zoneId, market } = pool;
  if (!price) return `no price of ${instanceType} is known, so its cost cannot be weighed`;
  if (typeof helpers === 'string') return helpers;
  if (market === 'spot' && compute.helpers && !compute.spotWithHelpers)
    return 'AWS does not say whether Spot takes helper groups: set compute.spotWithHelpers: true to try';
  return notOffered(pool, quotes) ? `${instanceType} is not offered in ${zoneId ?? region}` : undefined;
}

/** A type with live Spot prices in some zones is offered in those only; no live price at all says nothing. */
function notOffered({ instanceType, zoneId }: Pool, quotes: Quotes): boolean {
  if (zoneId === undefined) return false;
  const offered = quotes.get(instanceType)?.filter((each) => each.basis === 'asked') ?? [];
  return offered.length > 0 && !offered.some((each) => each.zoneId === zoneId);
}

function pricesOf(
  { pool, topology }: { readonly pool: Pool; readonly topology: Topology },
  price: OnDemandPrice,
  market: MarketView,
  quotes: Quotes,
): Pick<Candidate, 'score' | 'hourlyUsd' | 'onDemandHourlyUsd' | 'priceNote'> {
  const { hourlyUsd } = price;
  if (pool.market === 'on-demand') return { hourlyUsd, onDemandHourlyUsd: hourlyUsd, priceNote: price.note };
  const share = spotShare(pool, price, quotes);
  return {
    score: scoreOf(pool, topology.nodes, market),
    hourlyUsd: hourlyUsd * (share ?? ASSUMED_SPOT_SHARE),
    onDemandHourlyUsd: hourlyUsd,
    priceNote:
      share === undefined
        ? `no Spot price known, ${ASSUMED_SPOT_SHARE * 100} % of On-Demand assumed`
        : `EC2's Spot share of ${(share * 100).toFixed(0)} % taken for SageMaker's`,
  };
}

/** Per hour of all helper groups, or why it cannot be known: what has no price is not free. */
function helpersIn(market: MarketView, { compute, helpersHourlyUsd }: PoolsQuestion): number | string {
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
function scoreOf({ zoneId }: Pool, nodes: number, market: MarketView): number | undefined {
  const scores = market.scores.filter(
    (each) => (zoneId === undefined || each.zoneId === zoneId) && (each.nodes ?? nodes) === nodes,
  );
  return scores.length === 0 ? undefined : Math.max(...scores.map((each) => each.score));
}

/** EC2 Spot over EC2 On-Demand: SageMaker publishes no Spot price. Without a zone the mean over the region's zones. */
function spotShare({ instanceType, zoneId }: Pool, price: OnDemandPrice, all: Quotes): number | undefined {
  const quotes =
    all.get(instanceType)?.filter((each) => zoneId === undefined || each.zoneId === zoneId) ?? [];
  if (quotes.length === 0 || price.ec2HourlyUsd === undefined || price.ec2HourlyUsd <= 0) return undefined;
  const mean = quotes.reduce((sum, each) => sum + each.hourlyUsd, 0) / quotes.length;
  return Math.min(1, mean / price.ec2HourlyUsd);
}

/** What an hour of the work costs here, the work being stated for the reference. */
export const unitUsd = (
  { topology, pace, helpersHourlyUsd }: Pick<Candidate, 'topology' | 'pace' | 'helpersHourlyUsd'>,
  hourlyUsd: number,
): number => (hourlyUsd * topology.nodes + helpersHourlyUsd) * pace.factor;

/** The cheapest for their speed, and the fastest, which a late deadline may need. */
function mostPromising(candidates: readonly Candidate[], pruned: readonly Pruned[]): Pools {
  if (candidates.length <= MAXIMUM_POOLS) return { candidates, pruned };
  const unit = (each: Candidate): number => unitUsd(each, each.onDemandHourlyUsd);
  const fast = candidates.toSorted((a, b) => a.pace.factor - b.pace.factor).slice(0, MAXIMUM_POOLS / 10);
  const cheap = candidates.toSorted((a, b) => unit(a) - unit(b)).slice(0, MAXIMUM_POOLS - fast.length);
  const kept = new Set([...fast, ...cheap]);
  const beyond = candidates
    .filter((each) => !kept.has(each))
    .map(({ pool, topology }) => ({
      pool,
      topology,
      reason: `${kept.size} others are cheaper for their speed on demand, or faster: not weighed in full`,
    }));
  return { candidates: [...kept], pruned: [...pruned, ...beyond] };
}
