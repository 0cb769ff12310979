/** The port to the object store. Expected refusals are values; any other failure is thrown. */
import type { Rejection } from './rejections.ts';

export interface ListedBlob {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** With the quotes stripped. */
  readonly etag: string;
  /** ISO 8601. */
  readonly lastModified: string;
  /** It lies in an archive and cannot be read before it is restored. */
  readonly archived?: true;
  /** It is the index of a bundle that cannot be taken, or an archive, for this reason. */
  readonly refused?: Rejection;
}

/** The store refuses this object for good, though others may be readable: permission, encryption key, archive. */
export class UnreadableBlobError extends Error {
  override readonly name = 'UnreadableBlobError';
  /** The store's error code. */
  readonly code: string;
  constructor(code: string, cause: Error) {
    super(cause.message, { cause });
    this.code = code;
  }
}

export interface ListPage {
  readonly objects: readonly ListedBlob[];
  /** Common prefixes, if a delimiter was given. */
  readonly prefixes: readonly string[];
  /** Token of the next page; undefined on the last one. */
  readonly next: string | undefined;
  /** The store's time of the answer (Date header) in milliseconds. */
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
      /** The whole object was read, and the store has no checksum of it. */
      readonly unchecked?: true;
    }
  | { readonly kind: 'missing' }
  /** The object exists, but it is not the requested version. */
  | { readonly kind: 'changed' };

/** What became of the read of an arrival. */
export type SourceRead = GetResult | { readonly kind: 'unreadable'; readonly code: string };

/** Of any object but an arrival, a failure stays one. */
export function sourceFailure(error: unknown): SourceRead {
  if (error instanceof UnreadableBlobError) return { kind: 'unreadable', code: error.code };
  throw error;
}

export interface GetOptions {
  readonly ifMatch?: string;
  /** First byte and number of bytes. */
  readonly range?: { readonly offset: number; readonly length: number };
  /** Bytes of the whole object, where they are known. An answer of another length is a transient failure. */
  readonly size?: number;
  /**
   * Memory of the answer's size. The store may write the body into it and return it. Until the answer is there, only
   * the store may use it.
   */
  readonly into?: Uint8Array | undefined;
}

export interface PutOptions {
  readonly contentType?: string;
  /** `absent`: the key must be free. Otherwise the object must have this ETag. */
  readonly only?: 'absent' | { readonly etag: string };
}

export type PutResult = { readonly kind: 'written'; readonly etag: string } | { readonly kind: 'refused' };

export interface HeadResult {
  readonly size: number;
  readonly etag: string;
  /** Those that the store has. */
  readonly sums: KeptSums;
}

/** Compares an object that is read in ranges with the checksum that the store keeps of it. */
export interface WholeCheck {
  /** The next bytes, in order. */
  add(chunk: Uint8Array): void;
  /** Call it once, after the last byte. */
  isIntact(): boolean;
  readonly sums?: KeptSums;
}

/** Checksums that the store keeps of a whole object and that follow from those of its parts. */
export const SUM_KINDS = ['crc32', 'crc32c', 'crc64nvme'] as const;
export type SumKind = (typeof SUM_KINDS)[number];

/** Of an object, of a shard or of a part of it. */
export interface KeptSums {
  /** In 8 hexadecimal digits. */
  readonly crc32?: string | undefined;
  /** In 8 hexadecimal digits. */
  readonly crc32c?: string | undefined;
  /** In base64. */
  readonly crc64nvme?: string | undefined;
}

export const kindsIn = (sums: KeptSums): SumKind[] => SUM_KINDS.filter((kind) => sums[kind] !== undefined);

export const hasSum = (sums: KeptSums): boolean => SUM_KINDS.some((kind) => sums[kind] !== undefined);

/** Whether two objects have different ones of a kind. One that only one of them has says nothing. */
export const sumsDiffer = (a: KeptSums, b: KeptSums): boolean =>
  SUM_KINDS.some((kind) => a[kind] !== undefined && b[kind] !== undefined && a[kind] !== b[kind]);

/** With the checksum of the upload's kind, in base64 as S3 requires. */
export interface UploadedPart extends KeptSums {
  readonly etag: string;
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
  /** The store returned no checksum of what it copied, so the part must be sent instead. */
  | { readonly kind: 'unchecked' };

export interface Upload {
  readonly key: string;
  readonly id: string;
}

/** An upload that was created here. */
export interface OpenUpload extends Upload {
  /** Of the checksums of its parts, and of the one that the store keeps of the object. */
  readonly sum: SumKind;
}

/** Why an object was not deleted. */
export interface KeyFailure {
  readonly key: string;
  /** The store's error code. */
  readonly code: string;
  readonly message: string;
}

/** Made for many small reads and few large writes. */
export interface BlobStore {
  readonly bucket: string;
  listPage(prefix: string, options?: ListOptions): Promise<ListPage>;
  /** Rejects with UnreadableBlobError if the store refuses the object for good. */
  get(key: string, options?: GetOptions): Promise<GetResult>;
  head(key: string): Promise<HeadResult | undefined>;
  /** Undefined if the store has no checksum of this version of the object. */
  wholeCheck(key: string, etag: string): Promise<WholeCheck | undefined>;
  put(key: string, body: Uint8Array, options?: PutOptions): Promise<PutResult>;
  /** `changed`: the object has another ETag than `ifMatch`. A missing object counts as deleted. */
  delete(key: string, ifMatch?: string): Promise<'deleted' | 'changed'>;
  /** Deletes any number of objects of any version. Returns those that still exist; a missing one counts as deleted. */
  deleteMany(keys: readonly string[]): Promise<readonly KeyFailure[]>;
  createUpload(key: string, sum: SumKind): Promise<OpenUpload>;
  /** Numbers start at 1. The store compares the body with `sum`, in base64. */
  uploadPart(
    upload: OpenUpload,
    part: { readonly number: number; readonly sum: string },
    body: Uint8Array,
  ): Promise<UploadedPart>;
  /** The store copies a range of another object in the bucket, if that still has the ETag. */
  copyPart(upload: OpenUpload, part: { readonly number: number }, source: PartSource): Promise<CopiedPart>;
  /** `gone`: another worker completed or aborted the upload. */
  completeUpload(upload: Upload, parts: readonly UploadedPart[]): Promise<{ readonly etag: string } | 'gone'>;
  abortUpload(upload: Upload): Promise<void>;
}

/** What reads whole objects alone. */
export type BlobReader = Pick<BlobStore, 'get'>;

/** Every page of a listing, in the order of the keys' UTF-8 bytes. */
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

/** Returns a single chunk itself. */
export function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  return Buffer.concat(chunks);
}

/** The whole text of an object; undefined if it does not exist. */
export async function readText(store: BlobReader, key: string): Promise<string | undefined> {
  const found = await store.get(key);
  return found.kind === 'found' ? new TextDecoder().decode(joinChunks(found.chunks)) : undefined;
}
