/** Deletes the sources that a sealed generation packed. Rejected sources stay, because their owner may want them. */
import { bucketKeys } from '../../shared/keys.ts';
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import { decompress, linesOf } from '../model/compressed-lines.ts';
import { type Manifest, sealedLine } from '../model/documents.ts';

const PARALLEL_DELETES = 32;

/**
 * Each delete names the packed ETag (If-Match), so that a newer version of the key survives. Running it again is
 * harmless.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-deletes.html
 */
export async function deletePacked(store: BlobStore, manifest: Manifest): Promise<number> {
  const folder = bucketKeys.generation(manifest.pipeline, manifest.generation);
  let deleted = 0;
  for (const part of manifest.arrivals.parts) {
    const found = await store.get(`${folder}${part.list}`);
    if (found.kind !== 'found')
      throw new Error(`${folder}${part.list} is gone: restore it, and the deletion continues`);
    const lines = linesOf(decompress(joinChunks(found.chunks)));
    const worker = async (): Promise<void> => {
      for (const line of lines) {
        const [key, etag, , outcome] = sealedLine.parse(JSON.parse(line));
        if (typeof outcome === 'number' && (await deleteVersion(store, key, etag))) deleted += 1;
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_DELETES }, worker));
  }
  return deleted;
}

/** Compares the ETag itself too, because not every S3-compatible store knows If-Match on a delete. */
async function deleteVersion(store: BlobStore, key: string, etag: string): Promise<boolean> {
  const head = await store.head(key);
  if (head === undefined || head.etag !== etag) return false;
  return (await store.delete(key, etag)) === 'deleted';
}
