/** What an hour and a start in a pool cost, as its launcher bills them, and how well that is known. */

import {
  type DatasetSize,
  type Download,
  FASTER_DOWNLOAD,
  whyTooLate,
} from '@tidewheel/catalog/data-on-hosts.ts';
import { type ListedPrices, launcherFacts, type NodePrices } from '@tidewheel/catalog/launchers.ts';
import { type FileSystem, fileSystemHourlyUsd, priceNoteOf } from '@tidewheel/catalog/prices.ts';
import type { InputChannel, Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { MarketView, OnDemandPrice, PlacementScore } from '../records/market-history.ts';
import { nameOfReservation, type Pool, requestedAs, type Topology } from '../records/placement-records.ts';

export interface PoolPrices extends NodePrices {
  readonly score?: number | undefined;
  /** Absent: of this moment. */
  readonly scoreAgeSeconds?: number | undefined;
}

export type Quotes = ReadonlyMap<string, MarketView['spotPrices']>;

export const quotesOf = (market: MarketView): Quotes =>
  Map.groupBy(market.spotPrices, ({ instanceType }) => instanceType);

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

function listedPrices(pool: Pool, price: OnDemandPrice, all: Quotes): ListedPrices {
  const quotes = quotesFor(pool, all);
  return {
    instanceType: pool.instanceType,
    trainingUsd: price.hourlyUsd,
    trainingNote: price.note,
    ec2Usd: price.ec2HourlyUsd,
    ec2Note: price.ec2Note,
    ec2SpotUsd: mean(quotes),
    isSpotOfSnapshot: quotes.some(({ basis }) => basis === 'snapshot'),
  };
}

const quotesFor = ({ instanceType, zoneId }: Pool, all: Quotes): MarketView['spotPrices'] =>
  all.get(instanceType)?.filter((each) => zoneId === undefined || each.zoneId === zoneId) ?? [];

const mean = (quotes: MarketView['spotPrices']): number | undefined =>
  quotes.length === 0 ? undefined : quotes.reduce((sum, each) => sum + each.hourlyUsd, 0) / quotes.length;

/** Per hour of all helper groups, or why it cannot be known: what has no price is not free. */
export function helpersIn(
  market: MarketView,
  { helpers = [] }: Pick<Pipeline['compute'], 'helpers'>,
): number | string {
  let sum = 0;
  for (const { name, instanceType, nodes } of helpers) {
    const price = market.onDemandPrices.find((each) => each.instanceType === instanceType);
    if (price === undefined)
      return `no price of ${instanceType} in ${market.region} is known, which the helper group "${name}" runs on: name another type`;
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

// The file systems that a pipeline's channels read: what an hour of them costs, and whose price is not known.

export interface FileSystems {
  /** Sums those whose price is known. */
  readonly hourlyUsd: number;
  /** A sentence for each file system. */
  readonly notes: readonly string[];
}

/** Two channels may read one file system, which is paid for once. */
export function fileSystemsOf({ channels = {} }: Pick<Pipeline['training'], 'channels'>): FileSystems {
  const byId = new Map<string, FileSystem | undefined>();
  for (const channel of Object.values(channels)) {
    if ('s3' in channel) continue;
    const id = 'efs' in channel ? channel.efs : channel.fsxLustre;
    byId.set(id, fileSystemOf(channel) ?? byId.get(id));
  }
  const known = [...byId.values()].filter((each) => each !== undefined);
  return {
    hourlyUsd: known.reduce((sum, each) => sum + fileSystemHourlyUsd(each), 0),
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

interface DownloadsQuestion {
  readonly compute: Pipeline['compute'];
  readonly training: Pipeline['training'];
  readonly dataset: DatasetSize;
  readonly maximumRunSeconds: number;
  /** Undefined without a deadline. */
  readonly secondsUntilDeadline?: number | undefined;
}

/** @returns why nothing can be trained there, instead of the download */
export type DownloadIn = (
  pool: Pick<Pool, 'launcher' | 'instanceType' | 'purchaseOption'>,
  topology: Pick<Topology, 'nodes'>,
) => Download | string;

export const downloadsOf =
  (question: DownloadsQuestion): DownloadIn =>
  (pool, { nodes }) => {
    const { launcher, instanceType } = pool;
    const { compute, training, dataset } = question;
    const download = launcherFacts[launcher].downloads({
      dataset,
      compute,
      training,
      instanceType,
      nodes,
      purchaseOption: requestedAs(pool),
    });
    if ('problem' in download) return download.problem.message;
    const late = whyTooLate(download, tighterLimit(question));
    return late === undefined ? download : `${late}: ${FASTER_DOWNLOAD}`;
  };

/** The same with starts as long as the run's own. */
export const slowedBy =
  (ratio: number, downloadIn: DownloadIn): DownloadIn =>
  (pool, topology) => {
    const download = downloadIn(pool, topology);
    return typeof download === 'string' ? download : { ...download, seconds: download.seconds * ratio };
  };

function tighterLimit({
  maximumRunSeconds,
  secondsUntilDeadline = Number.POSITIVE_INFINITY,
}: DownloadsQuestion): Parameters<typeof whyTooLate>[1] {
  return secondsUntilDeadline < maximumRunSeconds
    ? { limitSeconds: secondsUntilDeadline, limit: 'are left until the deadline' }
    : { limitSeconds: maximumRunSeconds, limit: 'is the limit of an attempt (limits.maximumRunSeconds)' };
}
