/** Removes sources that a sealed generation holds. Rejected ones stay: their owner may still want them. */
import { bucketKeys } from '../../shared/keys.ts';
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import { type Manifest, sealedLine } from '../model/documents.ts';
import { decompress, linesOf } from '../model/spool.ts';

const PARALLEL_DELETES = 32;

/**
 * Each delete names the ETag that was packed, so that a newer version of the key survives (If-Match on DeleteObject,
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-deletes.html). Running it again is harmless.
 */
export async function deletePacked(store: BlobStore, manifest: Manifest): Promise<number> {
  const folder = bucketKeys.generation(manifest.pipeline, manifest.generation);
  let deleted = 0;
  for (const part of manifest.arrivals.parts) {
    const found = await store.get(`${folder}${part.list}`);
    if (found.kind !== 'found') throw new Error(`${folder}${part.list} is gone; nothing more is deleted`);
    const lines = linesOf(decompress(joinChunks(found.chunks)));
    const worker = async (): Promise<void> => {
      for (const line of lines) {
        const [key, etag, , fate] = sealedLine.parse(JSON.parse(line));
        if (typeof fate === 'number' && (await deleteVersion(store, key, etag))) deleted += 1;
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_DELETES }, worker));
  }
  return deleted;
}

/** Looks before it deletes as well: not every store that speaks S3 knows If-Match on a delete. */
async function deleteVersion(store: BlobStore, key: string, etag: string): Promise<boolean> {
  const head = await store.head(key);
  if (head === undefined || head.etag !== etag) return false;
  return (await store.delete(key, etag)) === 'deleted';
}
