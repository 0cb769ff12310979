/**
 * Bundles: many small files in one object, and an index that says where each lies. A member of a bundle is an arrival
 * like an object of its own. Its ETag says where its bytes are, so that an arrival's line is enough to read it.
 *
 * `<id>.data` holds the members' bytes. `<id>.index` is written after it, so a bundle exists when its index does.
 */
import { createHash } from 'node:crypto';
import { bucketKeys, pipelineOfArrival } from '@tidewheel/contract/bucket-keys.ts';

export const BUNDLE_VERSION = 1;

/** `drop` bundles small files: a larger one costs little as an object of its own. */
export const MOST_MEMBER_BYTES = 1024 * 1024;
/** A member is read whole. Archives hold larger ones. */
export const LARGEST_MEMBER_BYTES = 64 * 1024 * 1024;

/**
 * Members that begin in the same cell of a bundle are planned beside each other, and read by one request. A larger cell
 * costs fewer requests, but a worker holds a whole one, and a dataset is shuffled by cells.
 */
const CELL_BYTES = 16 * 1024 * 1024;

/** Bounds what one request reads of small members. */
export const MOST_SPAN_BYTES = CELL_BYTES + MOST_MEMBER_BYTES;

/** Where a member lies. */
export interface BundlePlace {
  /** MD5 of its bytes: the ETag that the file would have as an object of its own. */
  readonly md5: string;
  /** The bundle, 32 hexadecimal digits. */
  readonly bundle: string;
  /** Of its first byte. */
  readonly offset: number;
}

/** The ETag of a member. It has no blank, comma or quote, as lists of arrivals require. */
export const bundledEtag = ({ md5, bundle, offset }: BundlePlace): string => `${md5}@${bundle}:${offset}`;

const MD5_LENGTH = 32;

/** The ETag of a member of a bundle without its place: as of an object with the same bytes, where S3's ETag is an MD5. */
export const contentEtag = (etag: string): string =>
  etag[MD5_LENGTH] === '@' ? etag.slice(0, MD5_LENGTH) : etag;

const BUNDLED = /^([0-9a-f]{32})@([0-9a-f]{32}):(\d{1,12})$/;

/** Undefined for the ETag of an object of its own. */
export function bundlePlace(etag: string): BundlePlace | undefined {
  if (contentEtag(etag) === etag) return undefined;
  const [, md5, bundle, offset] = BUNDLED.exec(etag) ?? [];
  if (md5 === undefined || bundle === undefined) return undefined;
  return { md5, bundle, offset: Number(offset) };
}

export const cellOf = ({ offset }: Pick<BundlePlace, 'offset'>): number => Math.floor(offset / CELL_BYTES);

/** @param key of any arrival of the pipeline */
export function bundleDataKey(key: string, bundle: string): string {
  const pipeline = pipelineOfArrival(key);
  if (pipeline === undefined) throw new Error(`${key} lies under no incoming prefix, so in no bundle`);
  return bundleKeys(pipeline, bundle).data;
}

export const bundleKeys = (pipeline: string, bundle: string) => ({
  data: `${bucketKeys.bundles(pipeline)}${bundle}.data`,
  index: `${bucketKeys.bundles(pipeline)}${bundle}.index`,
});

const FILE_NAME = /^([0-9a-f]{32})\.(data|index)$/;

/** Which bundle an object belongs to; undefined for any other object. */
export function bundleFile(
  pipeline: string,
  key: string,
): { readonly bundle: string; readonly kind: 'data' | 'index' } | undefined {
  const folder = bucketKeys.bundles(pipeline);
  if (!key.startsWith(folder)) return undefined;
  const [, bundle, kind] = FILE_NAME.exec(key.slice(folder.length)) ?? [];
  return bundle === undefined ? undefined : { bundle, kind: kind === 'data' ? 'data' : 'index' };
}

export const md5Of = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');
