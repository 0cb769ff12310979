import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { once } from '@tidewheel/kit/once.ts';
import type { S3BlobStore } from '../../functions/aws/s3/blob-store.ts';
import { s3ObjectStore } from '../../functions/aws/s3/object-store.ts';
import { type OpenStore, openBlobStore } from '../../functions/aws/s3/open-store.ts';
import { clientConfiguration } from './emulator.ts';

/** A new bucket on the server, opened as the functions open theirs. */
export async function openTestBucket(url: string, bucket: string): Promise<OpenStore> {
  const { endpoint, region, credentials } = clientConfiguration(url);
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return openBlobStore({ bucket, endpoint, region, credentials: () => Promise.resolve(credentials) });
}

/** A bucket where this client finds it. */
export const pathOf = (s3: S3Client, bucket: string): (() => Promise<S3BlobStore>) =>
  once(async () => {
    const { protocol = '', hostname = '', port } = (await s3.config.endpoint?.()) ?? {};
    const region = await s3.config.region();
    const endpoint = `${protocol}//${hostname}:${port}`;
    return (await openBlobStore({ bucket, region, endpoint, credentials: () => s3.config.credentials() }))
      .store;
  });

export const objectStoreOf = (s3: S3Client, bucket: string): ObjectStore =>
  s3ObjectStore(pathOf(s3, bucket), bucket);
