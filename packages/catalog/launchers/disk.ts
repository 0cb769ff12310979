/**
 * The disk of a host: a root volume for the image, the shards and what the script writes, and the instance store where
 * the type has one. The volume alone holds everything, so a host without its instance store is slower and still trains.
 */
import type { Problem } from '@tidewheel/kit/errors.ts';
import { instanceFacts } from '../facts/catalog.ts';
import { bytesPerHost, type Download, type DownloadQuestion, downloadOf } from './download.ts';

const GIGABYTES_OF_THE_IMAGE = 100;
/** https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html */
const MAXIMUM_VOLUME_GIGABYTES = 16_384;
const BASE_THROUGHPUT = 125;
const MAXIMUM_THROUGHPUT = 1_000;
const BASE_IOPS = 3_000;
/** EBS demands so many for each MiB/s. */
const IOPS_PER_THROUGHPUT = 4;
/** In which the volume is to take up the shards. Each host of the gang is paid meanwhile. */
const DOWNLOAD_SECONDS = 300;
/** File systems keep some of a disk for themselves. */
const USABLE_SHARE = 0.9;
const GIGABYTE = 1e9;
const MEBIBYTE = 2 ** 20;

export interface DiskQuestion {
  readonly instanceType: string;
  /** Of the shards that one host fetches. */
  readonly downloadBytes: number;
  /** compute.volumeGigabytes: room for source, checkpoints and model. */
  readonly volumeGigabytes: number;
}

export interface Disk {
  readonly kind: 'disk';
  readonly volumeGigabytes: number;
  /** MiB/s */
  readonly throughput: number;
  readonly iops: number;
  /** Whether /opt/ml is on the instance store. */
  readonly instanceStore: boolean;
}

export function diskOf(
  question: DiskQuestion,
): Disk | { readonly kind: 'problem'; readonly problem: Problem } {
  const { instanceType, downloadBytes, volumeGigabytes } = question;
  const needed = Math.ceil(downloadBytes / GIGABYTE / USABLE_SHARE) + volumeGigabytes;
  const store = (instanceFacts(instanceType)?.nvmeGb ?? 0) * USABLE_SHARE;
  const volume = GIGABYTES_OF_THE_IMAGE + needed;
  const instanceStore = store >= needed;
  if (volume > MAXIMUM_VOLUME_GIGABYTES && !instanceStore)
    return { kind: 'problem', problem: tooLarge(needed) };
  // The instance store takes up what the volume would be read and written for.
  const wanted = instanceStore ? 0 : Math.ceil(downloadBytes / MEBIBYTE / DOWNLOAD_SECONDS);
  const throughput = Math.min(MAXIMUM_THROUGHPUT, Math.max(BASE_THROUGHPUT, wanted));
  return {
    kind: 'disk',
    volumeGigabytes: Math.min(MAXIMUM_VOLUME_GIGABYTES, volume),
    throughput,
    iops: Math.max(BASE_IOPS, throughput * IOPS_PER_THROUGHPUT),
    instanceStore,
  };
}

/** What a host downloads to its disk before the script starts. */
export function hostDownload(question: DownloadQuestion): Download | { readonly problem: Problem } {
  const { instanceType, compute } = question;
  const bytes = bytesPerHost(question);
  const disk = diskOf({ instanceType, downloadBytes: bytes, volumeGigabytes: compute.volumeGigabytes });
  return disk.kind === 'problem'
    ? { problem: disk.problem }
    : downloadOf(instanceType, bytes, diskBytesPerSecond(disk));
}

export const diskBytesPerSecond = ({ instanceStore, throughput }: Disk): number =>
  instanceStore ? Number.POSITIVE_INFINITY : throughput * MEBIBYTE;

const tooLarge = (gigabytes: number): Problem => ({
  path: 'compute.volumeGigabytes',
  message: `${gigabytes} GB of shards and checkpoints fit neither a volume of ${MAXIMUM_VOLUME_GIGABYTES} GB nor the instance store: divide the shards (tuning.training.distribution: ShardedByS3Key) or choose a type with more local NVMe`,
});
