/** Reads one arrival, be it an object of its own or a member of a bundle. */
import {
  type BlobStore,
  joinChunks,
  type ListedBlob,
  type SourceRead,
  sourceFailure,
} from '../documents/blob-store.ts';
import { bundleDataKey, bundlePlace, md5Of } from './bundle-place.ts';

export type ArrivedObject = Pick<ListedBlob, 'key' | 'size' | 'etag'>;

/** @param most only so many of its first bytes */
export async function readArrival(
  store: BlobStore,
  arrival: ArrivedObject,
  most?: number,
): Promise<SourceRead> {
  const { key, size, etag } = arrival;
  if (bundlePlace(etag) === undefined) {
    const range = most !== undefined && most < size ? { range: { offset: 0, length: most } } : {};
    return store.get(key, { ifMatch: etag, ...range }).catch(sourceFailure);
  }
  const read = await readMember(store, arrival);
  if (read.kind !== 'found' || most === undefined || most >= size) return read;
  return { ...read, chunks: [joinChunks(read.chunks).subarray(0, most)], size: most };
}

/** Bytes of a bundle may come damaged once. If they do so again, the index does not tell the truth. */
const MOST_READS = 3;

/** Reads a member of a bundle, and compares it with the index. */
export async function readMember(store: BlobStore, { key, size, etag }: ArrivedObject): Promise<SourceRead> {
  const place = bundlePlace(etag);
  if (place === undefined) throw new Error(`${key} is no member of a bundle`);
  if (size === 0) return { kind: 'found', chunks: [], size, etag };
  const range = { offset: place.offset, length: size };
  for (let reads = 0; reads < MOST_READS; reads += 1) {
    const found = await store.get(bundleDataKey(key, place.bundle), { range }).catch(sourceFailure);
    if (found.kind !== 'found') return found;
    const bytes = joinChunks(found.chunks);
    if (isMember({ size, etag }, bytes)) return { kind: 'found', chunks: [bytes], size, etag };
  }
  return { kind: 'unreadable', code: BAD_DIGEST };
}

/** S3's own code for bytes that differ from their MD5. */
const BAD_DIGEST = 'BadDigest';

/** Whether these are the bytes of the member, as the index says. */
export const isMember = ({ size, etag }: Pick<ArrivedObject, 'size' | 'etag'>, bytes: Uint8Array): boolean =>
  bytes.length === size && md5Of(bytes) === bundlePlace(etag)?.md5;
