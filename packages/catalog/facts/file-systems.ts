/** What a file system costs while a run lasts, from a dated table. */
import data from '../data/file-system-prices.json' with { type: 'json' };

type FileSystemKind = 'lustre' | 'efs';

export interface FileSystem {
  readonly kind: FileSystemKind;
  /** FSx bills what it provides, EFS what it holds. */
  readonly gigabytes: number;
  /** Default: FSx for Lustre SCRATCH_2, EFS Standard, both of us-east-1. */
  readonly usdPerGigabyteMonth?: number | undefined;
}

const HOURS_OF_A_MONTH = 730;

const tabled = (kind: FileSystemKind): number => (kind === 'efs' ? data.efs : data.lustre.SCRATCH_2);

export const fileSystemHourlyUsd = ({
  kind,
  gigabytes,
  usdPerGigabyteMonth = tabled(kind),
}: FileSystem): number => (gigabytes * usdPerGigabyteMonth) / HOURS_OF_A_MONTH;

/** Where the price comes from, in a sentence. */
export const priceNoteOf = ({ kind, usdPerGigabyteMonth }: FileSystem): string =>
  usdPerGigabyteMonth === undefined
    ? `$${tabled(kind)} a GB-month, ${kind === 'efs' ? 'EFS Standard' : 'SCRATCH_2'} in ${data.region} of ${data.asOf}`
    : `$${usdPerGigabyteMonth} a GB-month, as declared`;

/** The smallest FSx for Lustre file system of SSDs that holds so much: 1,200, 2,400, 4,800, 7,200 GB, ... */
export function lustreGigabytesFor(bytes: number): number {
  const { least, step } = data.lustreGigabytes;
  const gigabytes = bytes / 2 ** 30;
  return gigabytes <= least ? least : Math.ceil(gigabytes / step) * step;
}
