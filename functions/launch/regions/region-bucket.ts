/** The port to another region's bucket. The adapter is functions/aws/s3/region-buckets.ts. */
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';

export interface ObjectToCopy {
  readonly key: string;
  readonly size: number;
}

export interface RegionBucket {
  readonly name: string;
  /** The bucket of this region, with the data bucket's layout. */
  readonly store: ObjectStore;
  /** Copies between two buckets of the account in any regions, whole or not at all. No byte passes through the caller. */
  copy(object: ObjectToCopy, from: ObjectStore, to: ObjectStore): Promise<void>;
}
