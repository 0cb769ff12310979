/** The pools that a pipeline allows, each with its facts; a pruned pool keeps its reason. */

import type { FactsOf } from '@tidewheel/catalog/catalog.ts';
import type { Download } from '@tidewheel/catalog/data-on-hosts.ts';
import { type LauncherName, launchersOf } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { MarketView, Reservation } from '../records/market-history.ts';
import { type Pool, requestedAs, type Topology, type Transfer } from '../records/placement-records.ts';
import { type DownloadsQuestion, downloadIn, helpersIn, type PoolPrices, pricesOf } from './pool-costs.ts';
import { reservedFor } from './reserved-pools.ts';
import { helpersThatPay } from './throughput.ts';
import type { RelativeThroughput, ThroughputModel } from './throughput-estimate.ts';
import { type GangTopology, infeasibleOn, topologiesOf } from './topologies.ts';

export interface Candidate extends PoolPrices {
  readonly pool: Pool;
  readonly topology: Topology;
  readonly throughput: RelativeThroughput;
  readonly subnetId?: string | undefined;
  /** Of all helper groups together, which are always on demand. */
  readonly helpersHourlyUsd: number;
  /** Absent in the data's own region. */
  readonly transfer?: Transfer | undefined;
  /** Of each start; absent where nothing is known of the dataset. */
  readonly download?: Download | undefined;
  /** What the pool is of, where it is reserved. */
  readonly reservation?: Reservation | undefined;
  /** Why nothing can be launched here; such a pool is assessed and shown, never chosen. */
  readonly closed?: string | undefined;
}

interface Pruned {
  readonly pool: Pool;
  readonly topology: Topology;
  readonly reason: string;
}

const isPruned = (each: Candidate | Pruned): each is Pruned => 'reason' in each;

/** Another region that the pipeline names. */
export interface RegionView {
  readonly market: MarketView;
  readonly transfer: Transfer;
  readonly vpc?: Pipeline['compute']['vpc'];
  /** Why nothing can be launched there; its pools are still assessed and shown. */
  readonly closed?: string | undefined;
}

interface PoolsQuestion extends ThroughputModel, DownloadsQuestion {
  readonly market: MarketView;
  readonly elsewhere?: readonly RegionView[] | undefined;
  readonly savedOn?: GangTopology | undefined;
  /** How long the run's own starts took, over what they were expected to take. */
  readonly startRatio: number;
  readonly hardware: FactsOf;
}

/** The most pools that are assessed; the rest are the most expensive for their speed, on demand. */
const MAXIMUM_POOLS = 300;

const purchaseOptionsOf = (compute: Pipeline['compute']): readonly Pool['purchaseOption'][] =>
  compute.purchaseOption === 'spot-then-on-demand' ? ['spot', 'on-demand'] : [compute.purchaseOption];

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
  const found = views.flatMap((view) =>
    launchersOf(compute).flatMap((launcher) => poolsAt(siteOf(launcher, view, question))),
  );
  return mostPromising(
    found.filter((each): each is Candidate => !isPruned(each)),
    onceEach(found.filter(isPruned)),
  );
}

interface View extends Omit<RegionView, 'transfer'> {
  readonly transfer?: Transfer | undefined;
  /** Absent for the data's own. */
  readonly region?: string | undefined;
}

type Site = ReturnType<typeof siteOf>;

/** What holds for every pool of a launcher in a region. */
function siteOf(launcher: LauncherName, view: View, question: PoolsQuestion) {
  const { compute, training, savedOn, hardware } = question;
  const { market, region } = view;
  const isElsewhere = region !== undefined;
  return {
    view,
    question,
    named: { ...(isElsewhere && { region }), launcher },
    requested: { compute, training, region: market.region, isElsewhere, launcher, savedOn, hardware },
    prices: new Map(market.onDemandPrices.map((each) => [each.instanceType, each])),
    quotes: Map.groupBy(market.spotPrices, ({ instanceType }) => instanceType),
  };
}

function poolsAt(site: Site): readonly (Candidate | Pruned)[] {
  const { question, named, requested } = site;
  const { topologies, ruledOut } = topologiesOf(requested);
  const [purchaseOption = 'spot'] = purchaseOptionsOf(question.compute);
  return [
    ...ruledOut.map(({ topology, reason }) => ({
      pool: { instanceType: topology.instanceType, purchaseOption, ...named },
      topology: shapeOf(topology),
      reason,
    })),
    ...topologies
      .flatMap((each) => [each, ...helpedBy(each, site)])
      .flatMap((topology) =>
        [...openPools(topology, site), ...reservedPools(topology, site)].map(({ problem, ...each }) => {
          const found = problem ?? weighed(each.pool, topology, site);
          return typeof found === 'string'
            ? { pool: each.pool, topology: shapeOf(topology), reason: found }
            : { ...found, ...each };
        }),
      ),
  ];
}

/** @returns why the pool is left out, where no price is known, the zone does not offer it, or no job could run there */
function weighed(pool: Pool, topology: GangTopology, site: Site): Omit<Candidate, 'pool'> | string {
  const { view, question, requested, prices, quotes } = site;
  const { instanceType, zoneId } = pool;
  const { market, transfer, closed } = view;
  const price = prices.get(instanceType);
  if (!price) return `no price of ${instanceType} is known, so its cost cannot be weighed`;
  const helpers = [...(question.compute.helpers ?? []), ...(topology.helpers ?? [])];
  const helpersHourlyUsd = helpersIn(market.region, prices, helpers);
  if (typeof helpersHourlyUsd === 'string') return helpersHourlyUsd;
  if (pool.reservation === undefined && notOffered(pool, quotes))
    return `${instanceType} is not offered in ${zoneId ?? market.region}`;
  const infeasible = infeasibleOn(topology, { ...requested, purchaseOption: requestedAs(pool) });
  if (infeasible !== undefined) return infeasible;
  const shape = shapeOf(topology);
  const billed = pricesOf({ pool, topology: shape }, price, market, quotes);
  if ('unknown' in billed) return billed.unknown;
  const download = downloadIn(question, pool, shape);
  if (typeof download === 'string') return download;
  return {
    topology: shape,
    throughput: question.throughputOf(topology),
    transfer,
    closed,
    helpersHourlyUsd,
    ...billed,
    download: download && { ...download, seconds: download.seconds * question.startRatio },
  };
}

interface PlacePool {
  readonly pool: Pool;
  readonly subnetId?: string | undefined;
  readonly reservation?: Reservation;
  /** Why it cannot take the gang. */
  readonly problem?: string | undefined;
}

function reservedPools(
  { instanceType, ...shape }: GangTopology,
  { view: { market }, question: { compute, now }, named }: Site,
): readonly PlacePool[] {
  const asked = { compute, launcher: named.launcher, now: new Date(now) };
  return reservedFor({ instanceType, ...shape }, market.reservations ?? [], asked).map(
    ({ zoneId, ...rest }) => ({
      ...rest,
      pool: { instanceType, zoneId, purchaseOption: 'reserved', reservation: rest.reservation.id, ...named },
    }),
  );
}

/**
 * One for each place and purchase option. With a VPC a place is a zone (its first subnet); without one SageMaker chooses
 * the zone.
 */
function openPools({ instanceType }: GangTopology, { view, question, named }: Site): readonly PlacePool[] {
  const byZone = Map.groupBy(view.vpc?.subnets ?? [], ({ zoneId }) => zoneId);
  const places = [...byZone].map(([zoneId, [subnet]]) => ({ zoneId, subnetId: subnet?.id }));
  return (view.vpc ? places : [{ zoneId: undefined, subnetId: undefined }]).flatMap(({ zoneId, subnetId }) =>
    purchaseOptionsOf(question.compute).map((purchaseOption) => ({
      pool: { instanceType, zoneId, purchaseOption, ...named },
      subnetId,
    })),
  );
}

const shapeOf = ({ instanceType: _type, ...shape }: GangTopology): Topology => shape;

/**
 * The same with a group of CPU nodes, where hosts were measured as the bottleneck and the pipeline allows helpers.
 */
function helpedBy(topology: GangTopology, { question, prices }: Site): readonly GangTopology[] {
  const { workload, hardware } = question;
  const may = question.compute.mayAddHelpers;
  if (may === undefined || workload === undefined || hardware(topology.instanceType) === undefined) return [];
  const helpers = helpersThatPay({
    workload,
    instanceType: topology.instanceType,
    nodes: topology.nodes,
    may,
    hardware,
    priceOf: (type) => prices.get(type)?.hourlyUsd,
  });
  return helpers === undefined ? [] : [{ ...topology, helpers: [{ name: may.name, ...helpers }] }];
}

/** The price of one hour of the reference topology's work in this pool. */
export const unitUsd = (candidate: Candidate, hourlyUsd = candidate.hourlyUsd): number =>
  (hourlyUsd * candidate.topology.nodes + candidate.helpersHourlyUsd) * candidate.throughput.factor;

/** A reason that holds in every region is given once. */
function onceEach(pruned: readonly Pruned[]): readonly Pruned[] {
  const seen = new Set<string>();
  return pruned.filter(({ pool, topology, reason }) => {
    const { region: _region, ...here } = pool;
    const key = JSON.stringify([here, topology.nodes, reason]);
    return !seen.has(key) && seen.add(key);
  });
}

/** The cheapest for their speed, and the fastest, which a late deadline may need. */
function mostPromising(candidates: readonly Candidate[], pruned: readonly Pruned[]): Pools {
  if (candidates.length <= MAXIMUM_POOLS) return { candidates, pruned };
  const unit = (each: Candidate): number => unitUsd(each, each.onDemandHourlyUsd);
  const fast = candidates
    .toSorted((a, b) => a.throughput.factor - b.throughput.factor)
    .slice(0, MAXIMUM_POOLS / 10);
  const cheap = candidates.toSorted((a, b) => unit(a) - unit(b)).slice(0, MAXIMUM_POOLS - fast.length);
  const reserved = candidates.filter(({ reservation }) => reservation !== undefined);
  const kept = new Set([...reserved, ...fast, ...cheap]);
  const beyond = candidates
    .filter((each) => !kept.has(each))
    .map(({ pool, topology }) => ({
      pool,
      topology,
      reason: `${kept.size} others are cheaper for their speed on demand, or faster: not weighed in full`,
    }));
  return { candidates: [...kept], pruned: [...pruned, ...beyond] };
}

/** A type with live Spot prices in some zones is offered only there; no live price anywhere says nothing. */
function notOffered({ instanceType, zoneId }: Pool, quotes: Site['quotes']): boolean {
  if (zoneId === undefined) return false;
  const offered = quotes.get(instanceType)?.filter((each) => each.basis === 'quoted') ?? [];
  return offered.length > 0 && !offered.some((each) => each.zoneId === zoneId);
}
