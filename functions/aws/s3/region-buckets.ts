/** Other regions, each with its own bucket. S3 copies between them and the data bucket. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { once } from '@tidewheel/kit/once.ts';
import type { OpenUpload, UploadedPart } from '@tidewheel/packing/store.ts';
import type { ObjectToCopy, RegionBucket } from '../../launch/regions/region-copy.ts';
import { perRegion } from '../shared/clients.ts';
import { config } from '../shared/config.ts';
import type { S3BlobStore } from './blob-store.ts';
import { S3Error } from './errors.ts';
import { s3ObjectStore } from './object-store.ts';
import { CONTROL_RETRY, type OpenOptions, openBlobStore } from './open-store.ts';

/** CopyObject takes 5 GB. A larger object is copied part by part. */
const LARGEST_COPY = 5_000_000_000;
const PART_BYTES = 1_000_000_000;

export interface RegionPaths {
  readonly dataBucket: string;
  /** The bucket of the other region. */
  readonly bucket: string;
  readonly there: () => Promise<S3BlobStore>;
  /** These two wait until S3 has copied. */
  readonly copiesHome: () => Promise<S3BlobStore>;
  readonly copiesThere: () => Promise<S3BlobStore>;
}

/** S3 may be silent until it has copied a gigabyte from another region. */
const SILENCE_MILLISECONDS = 300_000;

const pathTo = (options: Pick<OpenOptions, 'bucket' | 'region' | 'silenceMilliseconds'>) =>
  once(async () => (await openBlobStore({ ...options, retry: CONTROL_RETRY })).store);
const copying = { silenceMilliseconds: SILENCE_MILLISECONDS };
const copiesHome = /* @__PURE__ */ once(() => pathTo({ bucket: config.bucket(), ...copying }));

/** Gives the deployment's paths to a region, opened once. */
export const regionPaths = /* @__PURE__ */ perRegion((region): RegionPaths => {
  const dataBucket = config.bucket();
  const bucket = bucketKeys.regionBucket(dataBucket, region);
  return {
    dataBucket,
    bucket,
    there: pathTo({ bucket, region }),
    copiesHome: copiesHome(),
    copiesThere: pathTo({ bucket, region, ...copying }),
  };
});

export function makeRegion(name: string, paths: RegionPaths): RegionBucket {
  const { dataBucket, bucket, there, copiesHome, copiesThere } = paths;
  return {
    name,
    store: s3ObjectStore(there, bucket),
    // The request goes to the region of the target bucket. S3 reads the source in any region.
    copy: async (object, from, to) =>
      copyObject(await (to.bucket === dataBucket ? copiesHome : copiesThere)(), object, from.bucket),
  };
}

async function copyObject(to: S3BlobStore, object: ObjectToCopy, from: string): Promise<void> {
  const { key, size } = object;
  if (size <= LARGEST_COPY) return to.copyFrom(from, key);
  const upload = await to.createUpload(key, 'crc64nvme');
  try {
    const parts = await copyParts(to, upload, { ...object, bucket: from });
    if ((await to.completeUpload(upload, parts)) !== 'gone') return;
    throw new TransientError(`the upload of s3://${to.bucket}/${key} is gone: the next try copies it again`);
  } catch (error: unknown) {
    // Its parts cost until then. What stopped the copy may stop this, too.
    await to.abortUpload(upload).catch(() => undefined);
    throw error;
  }
}

async function copyParts(
  to: S3BlobStore,
  upload: OpenUpload,
  { key, size, etag, bucket }: ObjectToCopy & { readonly bucket: string },
): Promise<readonly UploadedPart[]> {
  const parts: UploadedPart[] = [];
  for (let offset = 0; offset < size; offset += PART_BYTES) {
    const source = { bucket, key, etag, offset, length: Math.min(PART_BYTES, size - offset) };
    const copied = await to.copyPart(upload, { number: parts.length + 1 }, source);
    if (copied.kind !== 'copied')
      throw new TransientError(`s3://${bucket}/${key} is ${copied.kind}: the next try copies it again`);
    parts.push(copied.part);
  }
  return parts;
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
