/** Other regions, each with its own bucket. S3 copies between them and the data bucket. */
import {
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  HeadBucketCommand,
  type S3Client,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { ObjectToCopy, RegionBucket } from '../../launch/regions/region-copy.ts';
import { s3ObjectStore } from './object-store.ts';

/** CopyObject takes 5 GB. A larger object is copied part by part. */
const LARGEST_COPY = 5_000_000_000;
const PART_BYTES = 1_000_000_000;

export interface RegionClients {
  readonly dataBucket: string;
  /** S3 of the data bucket's region, and of the other. */
  readonly home: S3Client;
  readonly there: S3Client;
}

export function makeRegion(name: string, { dataBucket, home, there }: RegionClients): RegionBucket {
  return {
    name,
    store: s3ObjectStore(there, bucketKeys.regionBucket(dataBucket, name)),
    // The request goes to the region of the target bucket. S3 reads the source in any region.
    copy: (object, from, to) =>
      copyObject(to.bucket === dataBucket ? home : there, object, { from: from.bucket, to: to.bucket }),
  };
}

interface Buckets {
  readonly from: string;
  readonly to: string;
}

async function copyObject(s3: S3Client, { key, size }: ObjectToCopy, buckets: Buckets): Promise<void> {
  const target = { Bucket: buckets.to, Key: key };
  const source = `${buckets.from}/${key.split('/').map(encodeURIComponent).join('/')}`;
  if (size <= LARGEST_COPY) {
    // Copying tags would need further permissions, and no object here has any.
    await s3.send(new CopyObjectCommand({ ...target, CopySource: source, TaggingDirective: 'REPLACE' }));
    return;
  }
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(target));
  const parts: CompletedPart[] = [];
  for (let start = 0; start < size; start += PART_BYTES) {
    const PartNumber = parts.length + 1;
    const { CopyPartResult } = await s3.send(
      new UploadPartCopyCommand({
        ...target,
        UploadId,
        PartNumber,
        CopySource: source,
        CopySourceRange: `bytes=${start}-${Math.min(size, start + PART_BYTES) - 1}`,
      }),
    );
    parts.push({ PartNumber, ETag: CopyPartResult?.ETag });
  }
  await s3.send(
    new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts: parts } }),
  );
}

/** Why no job can be launched in a region, with the remedy; undefined when its bucket is there. */
export async function whyClosed(
  name: string,
  { dataBucket, there }: Pick<RegionClients, 'dataBucket' | 'there'>,
): Promise<string | undefined> {
  const bucket = bucketKeys.regionBucket(dataBucket, name);
  try {
    const { BucketRegion } = await there.send(new HeadBucketCommand({ Bucket: bucket }));
    if (BucketRegion === undefined || BucketRegion === name) return undefined;
    return `the bucket ${bucket} lies in ${BucketRegion}: a training job takes data only from its own region`;
  } catch (error: unknown) {
    const status = statusOf(error);
    const what = status === 404 ? 'is not there' : status === 403 ? 'may not be used' : 'cannot be read';
    return `the bucket ${bucket} ${what}: a training job in ${name} takes data only from a bucket there (docs/placement.md, regions)`;
  }
}

function statusOf(error: unknown): number | undefined {
  const metadata = error instanceof Error && '$metadata' in error ? error.$metadata : undefined;
  return typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata
    ? Number(metadata.httpStatusCode)
    : undefined;
}
