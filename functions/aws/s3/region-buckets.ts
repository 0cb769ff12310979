/** Other regions, each with its own bucket. S3 copies between them and the data bucket. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { once } from '@tidewheel/kit/once.ts';
import type { UploadedPart } from '@tidewheel/packing/store.ts';
import type { ObjectToCopy, RegionBucket } from '../../launch/regions/region-copy.ts';
import { perRegion } from '../shared/clients.ts';
import { config } from '../shared/config.ts';
import type { S3BlobStore } from './blob-store.ts';
import { S3Error } from './errors.ts';
import { s3ObjectStore } from './object-store.ts';
import { CONTROL_RETRY, openBlobStore } from './open-store.ts';

/** CopyObject takes 5 GB. A larger object is copied part by part. */
const LARGEST_COPY = 5_000_000_000;
const PART_BYTES = 1_000_000_000;

export interface RegionPaths {
  readonly dataBucket: string;
  /** The bucket of the other region. */
  readonly bucket: string;
  readonly home: () => Promise<S3BlobStore>;
  readonly there: () => Promise<S3BlobStore>;
}

/** S3 may be silent until it has copied a gigabyte from another region. */
const SILENCE_MILLISECONDS = 300_000;

const pathTo = (bucket: string, region?: string) =>
  once(async () => {
    const waiting = { retry: CONTROL_RETRY, silenceMilliseconds: SILENCE_MILLISECONDS };
    return (await openBlobStore({ bucket, region, ...waiting })).store;
  });
const home = /* @__PURE__ */ once(() => pathTo(config.bucket()));

/** Of the deployment, one for each region. */
export const regionPaths = /* @__PURE__ */ perRegion((region): RegionPaths => {
  const dataBucket = config.bucket();
  const bucket = bucketKeys.regionBucket(dataBucket, region);
  return { dataBucket, bucket, home: home(), there: pathTo(bucket, region) };
});

export function makeRegion(name: string, { dataBucket, bucket, home, there }: RegionPaths): RegionBucket {
  return {
    name,
    store: s3ObjectStore(there, bucket),
    // The request goes to the region of the target bucket. S3 reads the source in any region.
    copy: async (object, from, to) =>
      copyObject(await (to.bucket === dataBucket ? home : there)(), object, from.bucket),
  };
}

async function copyObject(to: S3BlobStore, { key, size, etag }: ObjectToCopy, from: string): Promise<void> {
  if (size <= LARGEST_COPY) return to.copyFrom(from, key);
  const upload = await to.createUpload(key, 'crc64nvme');
  const parts: UploadedPart[] = [];
  for (let offset = 0; offset < size; offset += PART_BYTES) {
    const source = { bucket: from, key, etag, offset, length: Math.min(PART_BYTES, size - offset) };
    const copied = await to.copyPart(upload, { number: parts.length + 1 }, source);
    if (copied.kind !== 'copied')
      throw new TransientError(`s3://${from}/${key} is ${copied.kind}: the next try copies it again`);
    parts.push(copied.part);
  }
  await to.completeUpload(upload, parts);
}

/** Why no job can be launched in a region, with the remedy; undefined when its bucket is there. */
export async function whyClosed(
  name: string,
  { bucket, there }: Pick<RegionPaths, 'bucket' | 'there'>,
): Promise<string | undefined> {
  try {
    const region = await (await there()).region();
    if (region === undefined || region === name) return undefined;
    return `the bucket ${bucket} lies in ${region}: a training job takes data only from its own region`;
  } catch (error: unknown) {
    const status = error instanceof S3Error ? error.failure.status : undefined;
    const what = status === 404 ? 'is not there' : status === 403 ? 'may not be used' : 'cannot be read';
    return `the bucket ${bucket} ${what}: a training job in ${name} takes data only from a bucket there (docs/placement.md, regions)`;
  }
}
