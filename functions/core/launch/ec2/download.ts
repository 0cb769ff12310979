/** Whether a host can have its shards before its time limit: the limit counts from the host's start, the download too. */
import { instanceFacts } from '../../catalog/catalog.ts';
import type { Problem } from '../../shared/errors.ts';
import type { Disk } from './disk.ts';

const BYTES_A_GIGABIT = 1e9 / 8;
const MEBIBYTE = 2 ** 20;
/**
 * A type bursts above its baseline for "5 to 60 minutes, depending on the instance size". An hour refuses no download
 * that could end in time.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
 */
const LONGEST_BURST_SECONDS = 3_600;

export interface Download {
  readonly instanceType: string;
  /** Of the shards that one host fetches. */
  readonly bytes: number;
  readonly disk: Pick<Disk, 'throughput' | 'instanceStore'>;
  /** limits.maximumRunSeconds */
  readonly limitSeconds: number;
}

/** @returns undefined where the download may end in time, and for a type that the catalog does not know */
export function lateDownload(download: Download): Problem | undefined {
  const { instanceType, bytes, limitSeconds } = download;
  const most = mostBytes(download);
  if (bytes < most) return undefined;
  const limit = `${(limitSeconds / 3_600).toFixed(1)} h`;
  return {
    path: 'limits.maximumRunSeconds',
    message:
      `of ${gigabytes(bytes)} GB of shards at most ${gigabytes(most)} GB reach a host (${instanceType}) in ${limit}, so the script would never start: ` +
      'raise the limit, divide the shards (training.distribution: ShardedByS3Key), or choose a type with a faster network or more local NVMe',
  };
}

/** At the highest rates of network and volume. */
function mostBytes({ instanceType, disk, limitSeconds }: Download): number {
  const volume = disk.instanceStore ? Number.POSITIVE_INFINITY : disk.throughput * MEBIBYTE * limitSeconds;
  const facts = instanceFacts(instanceType);
  if (facts === undefined || facts.networkBaselineGbps <= 0) return volume;
  const burstSeconds = Math.min(limitSeconds, LONGEST_BURST_SECONDS);
  const gigabits =
    facts.networkBurstGbps * burstSeconds + facts.networkBaselineGbps * (limitSeconds - burstSeconds);
  return Math.min(volume, gigabits * BYTES_A_GIGABIT);
}

const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(0);
