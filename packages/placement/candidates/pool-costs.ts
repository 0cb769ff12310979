/** What pools, file systems and moves between regions cost, as launchers bill them and the AWS Price List says. */

import { ec2OnDemandUsd, trainingRatio } from '@tidewheel/catalog/catalog.ts';
import {
  type DatasetSize,
  type Download,
  FASTER_DOWNLOAD,
  whyTooLate,
} from '@tidewheel/catalog/data-on-hosts.ts';
import { type ListedPrices, launcherFacts, type NodePrices } from '@tidewheel/catalog/launchers.ts';
import {
  type FileSystem,
  fileSystemHourlyUsd,
  type KeptPrice,
  type ListPrice,
  type ListPrices,
  priceNoteOf,
  type TransferPrice,
  transferPricesAsOf,
  transferUsdPerGigabyte,
} from '@tidewheel/catalog/prices.ts';
import { deadlineHoursOf, type InputChannel, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { assumed } from '../model/assumed.ts';
import type { PlacedAttempt } from '../records/attempts.ts';
import type { MarketView, OnDemandPrice } from '../records/market-history.ts';
import {
  type HelperNodes,
  nameOfReservation,
  type Pool,
  requestedAs,
  type Topology,
  type Transfer,
} from '../records/placement-records.ts';

export interface PoolPrices extends NodePrices {
  readonly score?: number | undefined;
  /** Absent: of this moment. */
  readonly scoreAgeSeconds?: number | undefined;
}

type Quotes = ReadonlyMap<string, MarketView['spotPrices']>;

/** @returns why no price is known, where none is */
export function pricesOf(
  { pool, topology }: { readonly pool: Pool; readonly topology: Topology },
  price: OnDemandPrice,
  market: MarketView,
  quotes: Quotes,
): PoolPrices | { readonly unknown: string } {
  const billed = launcherFacts[pool.launcher].bills(listedPrices(pool, price, quotes), requestedAs(pool));
  if ('unknown' in billed) return billed;
  switch (pool.purchaseOption) {
    case 'on-demand':
      return billed;
    case 'reserved':
      return {
        ...billed,
        hourlyUsd: 0,
        priceNote: `paid for already: ${nameOfReservation(pool.reservation)}`,
      };
    case 'spot':
      return { ...scoreOf(pool, topology.nodes, market), ...billed };
  }
}

function listedPrices({ instanceType, zoneId }: Pool, price: OnDemandPrice, all: Quotes): ListedPrices {
  const quotes =
    all.get(instanceType)?.filter((each) => zoneId === undefined || each.zoneId === zoneId) ?? [];
  const sum = quotes.reduce((usd, each) => usd + each.hourlyUsd, 0);
  return {
    instanceType,
    trainingUsd: price.hourlyUsd,
    trainingNote: price.note,
    ec2Usd: price.ec2HourlyUsd,
    ec2Note: price.ec2Note,
    ec2SpotUsd: quotes.length === 0 ? undefined : sum / quotes.length,
    isSpotOfSnapshot: quotes.some(({ basis }) => basis === 'snapshot'),
  };
}

/** Per hour of all helper groups, or why it cannot be known: what has no price is not free. */
export function helpersIn(
  region: string,
  prices: ReadonlyMap<string, OnDemandPrice>,
  helpers: readonly HelperNodes[],
): number | string {
  let sum = 0;
  for (const { name, instanceType, nodes } of helpers) {
    const price = prices.get(instanceType);
    if (price === undefined)
      return `no price of ${instanceType} in ${region} is known, which the helper group "${name}" runs on: name another type`;
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
    .toSorted((a, b) => b.score - a.score)[0];
  return best === undefined ? {} : { score: best.score, scoreAgeSeconds: best.ageSeconds };
}

// The file systems that a pipeline's channels read: what an hour of them costs, and whose price is not known.

/** Two channels may read one file system, which is paid for once. */
export function fileSystemsOf({ channels = {} }: Pick<Pipeline['training'], 'channels'>) {
  const byId = new Map<string, FileSystem | undefined>();
  for (const channel of Object.values(channels)) {
    if ('s3' in channel) continue;
    const id = 'efs' in channel ? channel.efs : channel.fsxLustre;
    byId.set(id, fileSystemOf(channel) ?? byId.get(id));
  }
  const known = [...byId.values()].filter((each) => each !== undefined);
  return {
    /** Sums those whose price is known. */
    hourlyUsd: known.reduce((sum, each) => sum + fileSystemHourlyUsd(each), 0),
    /** A sentence for each file system. */
    notes: [...byId].map(([id, each]) => noteOn(id, each)),
  };
}

function fileSystemOf(channel: Exclude<InputChannel, { readonly s3: string }>): FileSystem | undefined {
  const { storageGigabytes, usdPerGigabyteMonth } = channel;
  if (storageGigabytes === undefined) return undefined;
  return { kind: 'efs' in channel ? 'efs' : 'lustre', gigabytes: storageGigabytes, usdPerGigabyteMonth };
}

const noteOn = (id: string, known: FileSystem | undefined): string =>
  known === undefined
    ? `what ${id} costs is not known, so no cost includes it: declare storageGigabytes of its channel`
    : `every cost includes ${id}: ${known.gigabytes.toLocaleString('en-US')} GB, as declared and not read from AWS, for $${fileSystemHourlyUsd(known).toFixed(2)} an hour (${priceNoteOf(known)})`;

// What each start in a pool downloads, and the pools whose hosts cannot hold it or would have it too late.

export interface DownloadsQuestion extends Pick<Pipeline, 'compute' | 'training' | 'limits'> {
  readonly dataset?: DatasetSize | undefined;
  /** ISO 8601: the deadline counts from the first. */
  readonly closedAt: string;
  readonly now: string;
}

/**
 * Undefined where nothing is known of the dataset.
 * @returns why nothing can be trained there, instead of the download
 */
export function downloadIn(
  question: DownloadsQuestion,
  pool: Pick<Pool, 'launcher' | 'instanceType' | 'purchaseOption'>,
  { nodes }: Pick<Topology, 'nodes'>,
): Download | string | undefined {
  const { compute, training, dataset } = question;
  if (dataset === undefined) return undefined;
  const { launcher, instanceType } = pool;
  const start = { dataset, compute, training, instanceType, nodes, purchaseOption: requestedAs(pool) };
  const download = launcherFacts[launcher].downloads(start);
  if ('problem' in download) return download.problem.message;
  const late = whyTooLate(download, tighterLimit(question));
  return late === undefined ? download : `${late}: ${FASTER_DOWNLOAD}`;
}

function tighterLimit({ limits, closedAt, now }: DownloadsQuestion): Parameters<typeof whyTooLate>[1] {
  const { maximumRunSeconds } = limits;
  const deadlineSeconds = (deadlineHoursOf(limits) ?? Number.POSITIVE_INFINITY) * 3_600;
  const leftSeconds = deadlineSeconds - (Date.parse(now) - Date.parse(closedAt)) / 1_000;
  return leftSeconds < maximumRunSeconds
    ? { limitSeconds: leftSeconds, limit: 'are left until the deadline' }
    : { limitSeconds: maximumRunSeconds, limit: 'is the limit of an attempt (limits.maximumRunSeconds)' };
}

// The prices of the AWS Price List in place of the snapshot's, which grow old with the release.

const DAY_MILLISECONDS = 24 * 3_600_000;

/** @param wanted types that the pipeline may use: those that only the list knows are added */
export function pricedFrom(
  list: ListPrices | undefined,
  view: MarketView,
  { wanted, now }: { readonly wanted: readonly string[]; readonly now: Date },
): MarketView {
  if (list === undefined || list.region !== view.region) return view;
  const training = new Map(list.prices.map((each) => [each.instanceType, each]));
  const ec2 = new Map(list.ec2.map((each) => [each.instanceType, each]));
  const noteOf = (price: KeptPrice<ListPrice>): string => `AWS Price List${sourceOf(price, now)}`;
  const known = new Map(view.onDemandPrices.map((each) => [each.instanceType, each]));
  const priced = (instanceType: string): readonly OnDemandPrice[] => {
    const price = known.get(instanceType);
    const [listed, own] = [training.get(instanceType), ec2.get(instanceType)];
    const onEc2 = own && { ec2HourlyUsd: own.hourlyUsd, ec2Note: noteOf(own) };
    if (listed !== undefined) {
      const note = price ? noteOf(listed) : 'AWS Price List, unknown to the snapshot';
      const ec2HourlyUsd = price ? price.ec2HourlyUsd : ec2OnDemandUsd(instanceType, view.region);
      const { hourlyUsd } = listed;
      return [{ ...price, instanceType, hourlyUsd, basis: 'quoted', note, ec2HourlyUsd, ...onEc2 }];
    }
    if (own && (price === undefined || price.basis === 'estimated')) return [{ ...estimated(own), ...onEc2 }];
    return price ? [{ ...price, ...onEc2 }] : [];
  };
  // A type that is newer than the snapshot may be known to the list alone.
  return { ...view, onDemandPrices: [...new Set([...known.keys(), ...wanted])].flatMap(priced) };
}

/** The list may have an EC2 price for a type without a training price. */
function estimated({ instanceType, hourlyUsd: ec2HourlyUsd }: ListPrice): OnDemandPrice {
  const ratio = trainingRatio(instanceType);
  const note = `estimate: EC2 On-Demand ${ec2HourlyUsd} of the AWS Price List x ${ratio} (ratio seen in us-east-1)`;
  return { instanceType, hourlyUsd: ec2HourlyUsd * ratio, basis: 'estimated', note, ec2HourlyUsd };
}

function sourceOf({ effective, readAt }: KeptPrice<ListPrice | TransferPrice>, now: Date): string {
  const days = Math.floor((now.getTime() - Date.parse(readAt)) / DAY_MILLISECONDS);
  const since = effective === undefined ? '' : `, in force since ${effective}`;
  return `${since}, read ${days < 1 ? 'today' : `${days} days ago`}`;
}

/** USD a gigabyte from one region to another: the list's price, else the snapshot's. */
function transferRate(from: string, to: string, known: ListRate | undefined) {
  const listed =
    known?.list?.region === from ? known.list.transfer.find((each) => each.to === to) : undefined;
  if (known === undefined || listed === undefined)
    return { usdPerGigabyte: transferUsdPerGigabyte(from, to), note: `table of ${transferPricesAsOf}` };
  const { usdPerGigabyte } = listed;
  return { usdPerGigabyte, note: `AWS Price List${sourceOf(listed, known.now)}` };
}

// The money and time that training in another region costs before the first step and on the way back.

export interface TransferQuestion {
  readonly home: string;
  readonly region: string;
  /** Sums all shards that the run trains on; undefined where no manifest says. */
  readonly datasetBytes?: number | undefined;
  readonly checkpointBytes?: number | undefined;
  readonly attempts: readonly PlacedAttempt[];
  /** The AWS Price List's rates for either direction; default: the snapshot's table. */
  readonly rates?: { readonly there: ListRate; readonly back: ListRate } | undefined;
}

interface ListRate {
  /** Price list of the region that the bytes leave. */
  readonly list?: ListPrices | undefined;
  readonly now: Date;
}

/** Listing both sides and the first requests. */
const START_SECONDS = 10;
const GIGABYTE = 1e9;

/** Shards that an earlier attempt copied are already there; the newest checkpoint goes there and one comes back. */
export function transferOf(question: TransferQuestion): Transfer {
  const { home, region, datasetBytes = 0, checkpointBytes = 0, attempts } = question;
  const wasThere = attempts.some(({ placement }) => placement.pool.region === region);
  const last = attempts.at(-1)?.placement.pool.region;
  const there = (wasThere ? 0 : datasetBytes) + (last === region ? 0 : checkpointBytes);
  const out = transferRate(home, region, question.rates?.there);
  const back = transferRate(region, home, question.rates?.back);
  const usd = (there / GIGABYTE) * out.usdPerGigabyte + (checkpointBytes / GIGABYTE) * back.usdPerGigabyte;
  return {
    gigabytes: (there + checkpointBytes) / GIGABYTE,
    usd,
    seconds: START_SECONDS + there / assumed.copyBytes,
    priceNote: out.note,
  };
}
