/** Another region's bucket, as far as training there needs it. The adapter is functions/aws/s3/region-buckets.ts. */
import type { ObjectStore } from '../../shared/ports.ts';

export interface ObjectToCopy {
  readonly key: string;
  readonly size: number;
}

export interface Region {
  readonly name: string;
  /** The bucket of this region, laid out as the data bucket. */
  readonly store: ObjectStore;
  /** From one bucket of the account to another, wherever they lie; no byte passes through the caller. Whole or not at all. */
  copy(object: ObjectToCopy, from: ObjectStore, to: ObjectStore): Promise<void>;
}
