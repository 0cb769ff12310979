/** How fast a type reads the disk that its shards lie on. */
import type { InstanceFacts } from './catalog.ts';

const MEGABIT_BYTES = 125e3;
/** Stated: the catalog knows no rate of a local NVMe disk, and the small sizes read some 0.5 to 1.5 GB a second. */
const NVME_BYTES_PER_SECOND = 7e8;

/** Bytes a second of local NVMe, else of the type's link to EBS; without limit where no source says. */
export const diskRate = ({ nvmeGb, ebsBaselineMbps }: InstanceFacts): number =>
  nvmeGb > 0 ? NVME_BYTES_PER_SECOND : (ebsBaselineMbps ?? Number.POSITIVE_INFINITY) * MEGABIT_BYTES;
