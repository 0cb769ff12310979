/** Opens a dataset's bucket for a command. Common mistakes get an error with the remedy. */
import { type BlobStore, listPages } from '@tidewheel/packing/store.ts';
import { S3Error } from '../../functions/aws/s3/errors.ts';
import { openBlobStore } from '../../functions/aws/s3/open-store.ts';
import { networkRemedy } from '../deployment/surroundings.ts';

/** @throws Error with a remedy if the bucket cannot be reached */
export async function withBucket<T>(bucket: string, use: (store: BlobStore) => Promise<T>): Promise<T> {
  try {
    await using opened = await openBlobStore({ bucket });
    return await use(opened.store);
  } catch (error: unknown) {
    const remedy = error instanceof Error ? remedyFor(bucket, error) : undefined;
    if (remedy === undefined) throw error;
    throw new Error(remedy, { cause: error });
  }
}

function remedyFor(bucket: string, error: Error): string | undefined {
  if (error.message === 'Region is missing') return "no region is set: set AWS_REGION to the bucket's region";
  if (error instanceof S3Error && error.failure.code === 'NoSuchBucket') {
    const server = process.env['AWS_ENDPOINT_URL'] ?? 'S3 in this account and region';
    return `there is no bucket "${bucket}" at ${server}: check its name, AWS_REGION and AWS_ENDPOINT_URL`;
  }
  return networkRemedy(error, process.env);
}

/** The pipelines with a dataset in this bucket, as a clause for an error. */
export async function otherDatasets(store: BlobStore): Promise<string> {
  const names: string[] = [];
  for await (const page of listPages(store, '', { delimiter: '/' }))
    for (const folder of page.prefixes) {
      const { prefixes, objects } = await store.listPage(`${folder}dataset/`, { maximum: 1 });
      if (prefixes.length + objects.length > 0) names.push(folder.slice(0, -1));
    }
  return names.length === 0
    ? 'no pipeline has a dataset in this bucket'
    : `pipelines with a dataset in this bucket: ${names.join(', ')}`;
}
