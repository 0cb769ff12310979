/** What packing asks of the object store. Expected refusals are values, everything else is thrown. */

export interface ListedBlob {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** With the quotes stripped. */
  readonly etag: string;
  /** ISO 8601, as the store wrote it. */
  readonly lastModified: string;
}

export interface ListPage {
  readonly objects: readonly ListedBlob[];
  /** Common prefixes, when a delimiter was given. */
  readonly prefixes: readonly string[];
  /** Token of the next page; undefined on the last. */
  readonly next: string | undefined;
  /** The store's own time of the answer (Date header), milliseconds. */
  readonly serverTime?: number | undefined;
}

export interface ListOptions {
  readonly delimiter?: string;
  readonly startAfter?: string;
  readonly next?: string | undefined;
  /** At most 1,000. */
  readonly maximum?: number;
}

export type GetResult =
  | {
      readonly kind: 'found';
      readonly chunks: readonly Uint8Array[];
      readonly size: number;
      readonly etag: string;
    }
  | { readonly kind: 'missing' }
  /** The object is there, but it is not the version asked for. */
  | { readonly kind: 'changed' };

export interface GetOptions {
  readonly ifMatch?: string;
  /** First byte and number of bytes. */
  readonly range?: { readonly offset: number; readonly length: number };
  /**
   * As long as the answer will be. The store may put the body there and answer with it, or not; until it has answered
   * the memory is its own.
   */
  readonly into?: Uint8Array | undefined;
}

export interface PutOptions {
  readonly contentType?: string;
  /** `absent`: only if nothing is there. Otherwise the ETag that must be there. */
  readonly only?: 'absent' | { readonly etag: string };
}

export type PutResult = { readonly kind: 'written'; readonly etag: string } | { readonly kind: 'refused' };

export interface HeadResult {
  readonly size: number;
  readonly etag: string;
  /** CRC-32 of the whole object in 8 hexadecimal digits, where the store keeps one. */
  readonly crc32?: string | undefined;
}

export interface UploadedPart {
  readonly etag: string;
  /** Base64, as S3 wants it. */
  readonly crc32: string;
}

export interface PartSource {
  readonly key: string;
  readonly etag: string;
  readonly offset: number;
  readonly length: number;
}

export type CopiedPart =
  | { readonly kind: 'copied'; readonly part: UploadedPart }
  | { readonly kind: 'missing' }
  | { readonly kind: 'changed' }
  /** The store does not say what it copied: the part has to be sent instead. */
  | { readonly kind: 'unchecked' };

export interface Upload {
  readonly key: string;
  readonly id: string;
}

/** Why the object of a key is still there. */
export interface KeyFailure {
  readonly key: string;
  /** The store's own. */
  readonly code: string;
  readonly message: string;
}

/** The data path of packing: many small reads, few large writes. */
export interface BlobStore {
  readonly bucket: string;
  listPage(prefix: string, options?: ListOptions): Promise<ListPage>;
  get(key: string, options?: GetOptions): Promise<GetResult>;
  head(key: string): Promise<HeadResult | undefined>;
  put(key: string, body: Uint8Array, options?: PutOptions): Promise<PutResult>;
  /** `changed` when an ETag was named and another version is there; a missing object counts as deleted. */
  delete(key: string, ifMatch?: string): Promise<'deleted' | 'changed'>;
  /** Any number, whatever versions; what is missing counts as deleted. Answers those that are still there. */
  deleteMany(keys: readonly string[]): Promise<readonly KeyFailure[]>;
  createUpload(key: string): Promise<Upload>;
  /** Numbers start at 1; `crc` is the CRC-32 of the body, which the store checks. */
  uploadPart(
    upload: Upload,
    part: { readonly number: number; readonly crc: number },
    body: Uint8Array,
  ): Promise<UploadedPart>;
  /** A part made by the store itself of a range of another object in the bucket, if that is still the version named. */
  copyPart(upload: Upload, part: { readonly number: number }, source: PartSource): Promise<CopiedPart>;
  /** `gone` when there is no such upload any more (finished by another, or aborted). */
  completeUpload(upload: Upload, parts: readonly UploadedPart[]): Promise<{ readonly etag: string } | 'gone'>;
  abortUpload(upload: Upload): Promise<void>;
}

/** Every page of a listing, in the store's order (UTF-8 bytes). */
export async function* listPages(
  store: BlobStore,
  prefix: string,
  options: ListOptions = {},
): AsyncGenerator<ListPage> {
  let next: string | undefined;
  do {
    const page: ListPage = await store.listPage(prefix, { ...options, next });
    yield page;
    next = page.next;
  } while (next !== undefined);
}

/** One buffer of many chunks; the chunk itself when there is one. */
export function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  return Buffer.concat(chunks);
}

/** Whole text of an object, or undefined. */
export async function readText(store: BlobStore, key: string): Promise<string | undefined> {
  const found = await store.get(key);
  return found.kind === 'found' ? new TextDecoder().decode(joinChunks(found.chunks)) : undefined;
}
