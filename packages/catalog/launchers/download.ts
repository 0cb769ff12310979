/** The shards that each host of a gang fetches before its script starts, and how long that takes. */
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { instanceFacts } from '../facts/catalog.ts';

/** Of all shards that a run reads. */
export interface DatasetSize {
  readonly generations: number;
  readonly shards: number;
  readonly bytes: number;
  /** There are no shards: the numbers are those of the files. */
  readonly isUnpacked?: true;
}

/** @param generations that the run reads, each with the totals of its shards */
export const datasetSizeOf = (
  generations: readonly {
    readonly totals: { readonly shards: number; readonly bytes: number };
    readonly isUnpacked?: true;
  }[],
): DatasetSize => ({
  generations: generations.length,
  shards: generations.reduce((sum, { totals }) => sum + totals.shards, 0),
  bytes: generations.reduce((sum, { totals }) => sum + totals.bytes, 0),
  ...(generations.some(({ isUnpacked }) => isUnpacked) && { isUnpacked: true }),
});

export interface DownloadQuestion {
  readonly dataset: DatasetSize;
  readonly compute: Pick<Pipeline['compute'], 'volumeGigabytes'>;
  readonly training: Pick<Pipeline['training'], 'distribution' | 'inputMode'>;
  readonly instanceType: string;
  readonly nodes: number;
  readonly purchaseOption: 'spot' | 'on-demand';
}

export interface Download {
  /** Of one host; 0 where the script streams its shards. */
  readonly bytes: number;
  /** As expected; it is billed, and repeated at every start. */
  readonly seconds: number;
  /** At the highest rates of network and volume: no download ends sooner. */
  readonly leastSeconds: number;
}

export const NO_DOWNLOAD: Download = { bytes: 0, seconds: 0, leastSeconds: 0 };

/** Stated: the share of its baseline bandwidth at which a host reads many shards from S3. */
const DOWNLOAD_SHARE = 0.5;
/**
 * Stated: of a host with several network cards, one alone carries plain TCP, as to S3. The largest has 100 Gbit/s.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-eni.html#network-cards
 */
const GIGABITS_OF_A_CARD = 100;
/** For types outside the catalog: 1 Gbit/s. */
const DEFAULT_BYTES_PER_SECOND = 125e6;
const BYTES_A_GIGABIT = 1e9 / 8;
/**
 * A type bursts above its baseline for "5 to 60 minutes, depending on the instance size". An hour refuses no download
 * that could end in time.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
 */
const LONGEST_BURST_SECONDS = 3_600;

/** Shards are dealt out in equal numbers, so a host's share is about its part of the bytes. */
export const bytesPerHost = ({
  dataset,
  training,
  nodes,
}: Pick<DownloadQuestion, 'dataset' | 'training' | 'nodes'>): number =>
  Math.ceil(dataset.bytes / (training.distribution === 'ShardedByS3Key' ? nodes : 1));

/** @param diskBytesPerSecond of the volume that takes up the shards; default: as fast as the network */
export function downloadOf(
  instanceType: string,
  bytes: number,
  diskBytesPerSecond: number = Number.POSITIVE_INFINITY,
): Download {
  const rate = Math.min(networkBytesPerSecond(instanceType), diskBytesPerSecond);
  const leastSeconds = Math.max(leastNetworkSeconds(instanceType, bytes), bytes / diskBytesPerSecond);
  return { bytes, seconds: bytes / rate, leastSeconds };
}

function networkBytesPerSecond(instanceType: string): number {
  const gigabits = instanceFacts(instanceType)?.networkBaselineGbps;
  return gigabits === undefined
    ? DEFAULT_BYTES_PER_SECOND
    : Math.min(GIGABITS_OF_A_CARD, gigabits) * BYTES_A_GIGABIT * DOWNLOAD_SHARE;
}

/** A type outside the catalog may be as fast as any. */
function leastNetworkSeconds(instanceType: string, bytes: number): number {
  const facts = instanceFacts(instanceType);
  if (facts === undefined) return 0;
  const { networkBaselineGbps: baseline, networkBurstGbps: burst } = facts;
  const gigabits = bytes / BYTES_A_GIGABIT;
  const bursting = Math.min(gigabits, burst * LONGEST_BURST_SECONDS);
  return bursting / burst + (gigabits - bursting) / baseline;
}

/**
 * The limit counts from the host's start, the download too.
 * @param limit names the limit, as in "2.0 h are left until the deadline"
 * @returns undefined where the download may end in time
 */
export function whyTooLate(
  { bytes, leastSeconds }: Download,
  { limitSeconds, limit }: { readonly limitSeconds: number; readonly limit: string },
): string | undefined {
  // Where nothing is downloaded, a deadline that has passed is no fault of the download.
  if (bytes === 0 || leastSeconds < limitSeconds) return undefined;
  return (
    `${(bytes / 1e9).toFixed(0)} GB of shards take a host at least ${duration(leastSeconds)} to download, ` +
    `and ${duration(limitSeconds)} ${limit}, so the script would never start`
  );
}

export const FASTER_DOWNLOAD =
  'divide the shards (tuning.training.distribution: ShardedByS3Key), or choose a type with a faster network or more local NVMe';

const duration = (seconds: number): string =>
  seconds < 7_200 ? `${Math.max(0, Math.ceil(seconds / 60))} min` : `${(seconds / 3_600).toFixed(1)} h`;
