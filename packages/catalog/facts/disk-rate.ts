/** How fast a type reads the disk that its shards lie on. */
import type { InstanceFacts } from './catalog.ts';

const MEGABIT_BYTES = 125e3;
/**
 * Stated: the catalog knows no rate of local NVMe. The small sizes read some 0.5 to 1.5 GB a second, and larger ones have
 * more disks side by side, about one for each terabyte.
 */
const NVME_BYTES_PER_SECOND = 7e8;
const GIGABYTES_OF_A_DISK = 1_000;
/** Stated for a type whose link to EBS no source names: what a gp3 volume reads without extra throughput. */
const UNKNOWN_EBS_BYTES_PER_SECOND = 125 * 2 ** 20;

/** Bytes a second of local NVMe, else of the type's link to EBS. */
export const diskRate = ({ nvmeGb, ebsBaselineMbps }: InstanceFacts): number =>
  nvmeGb > 0
    ? NVME_BYTES_PER_SECOND * Math.max(1, nvmeGb / GIGABYTES_OF_A_DISK)
    : ebsBaselineMbps === undefined
      ? UNKNOWN_EBS_BYTES_PER_SECOND
      : ebsBaselineMbps * MEGABIT_BYTES;

/** Whether no source names the rate. */
export const isDiskRateAssumed = ({ nvmeGb, ebsBaselineMbps }: InstanceFacts): boolean =>
  nvmeGb > 0 || ebsBaselineMbps === undefined;
