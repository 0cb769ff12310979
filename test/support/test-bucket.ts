import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
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
