/** The packing port in memory, with S3's rules for conditions, order and multipart uploads. */

import { createHash } from 'node:crypto';
import { compareKeys } from '@tidewheel/packing/bundles.ts';
import { keptSum, sumOf } from '@tidewheel/packing/checksums.ts';
import type {
  BlobStore,
  CopiedPart,
  GetOptions,
  GetResult,
  HeadResult,
  KeptSums,
  KeyFailure,
  ListedBlob,
  ListOptions,
  ListPage,
  OpenUpload,
  PartSource,
  PutOptions,
  PutResult,
  SumKind,
  Upload,
  UploadedPart,
  WholeCheck,
} from '@tidewheel/packing/store.ts';

interface Held {
  readonly body: Uint8Array;
  readonly etag: string;
  readonly lastModified?: string;
  readonly archived?: true;
}

const keptOf = (kind: SumKind, body: Uint8Array): KeptSums => keptSum({ kind, base64: sumOf(kind, body) });

export class MemoryBlobStore implements BlobStore {
  readonly bucket = 'memory';
  readonly objects = new Map<string, Held>();
  readonly uploads = new Map<string, { key: string; parts: Map<number, Uint8Array> }>();
  pageSize = 1_000;
  /** False: as a server that copies and does not say what. */
  checksCopies = true;
  /** False: as a server that keeps no checksum of what it is sent. */
  hasChecksums = true;
  /** The checksum of the whole that the server keeps beside the ETag. */
  keptSum: SumKind | 'none' = 'none';
  /** By copyPart. */
  copiedBytes = 0;
  /** Of the objects that are written next. */
  now = (): Date => new Date('2026-01-01T00:00:00.000Z');
  #uploadNumber = 0;
  #stamp = '';
  #sorted: readonly string[] = [];

  /** @param etag of a multipart upload or a KMS key: not the MD5 of the body */
  seed(key: string, body: Uint8Array | string, etag?: string): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const lastModified = this.now().toISOString();
    this.objects.set(key, {
      body: bytes,
      etag: etag ?? createHash('md5').update(bytes).digest('hex'),
      lastModified,
    });
  }

  body(key: string): Buffer {
    const held = this.objects.get(key);
    if (held === undefined) throw new Error(`no object ${key}`);
    return Buffer.from(held.body);
  }

  keys(prefix = ''): string[] {
    return this.#inOrder().filter((key) => key.startsWith(prefix));
  }

  /** Sorted again only when the number of objects changed, or the first or last key. */
  #inOrder(): readonly string[] {
    const keys = [...this.objects.keys()];
    const stamp = `${keys.length} ${keys[0]} ${keys.at(-1)}`;
    if (stamp !== this.#stamp) this.#sorted = keys.sort(compareKeys);
    this.#stamp = stamp;
    return this.#sorted;
  }

  listPage(prefix: string, options: ListOptions = {}): Promise<ListPage> {
    const after = options.next ?? options.startAfter ?? '';
    const limit = Math.min(this.pageSize, options.maximum ?? 1_000);
    const objects: ListedBlob[] = [];
    const prefixes: string[] = [];
    let last = '';
    for (const key of this.keys(prefix)) {
      const end = options.delimiter === undefined ? -1 : key.indexOf(options.delimiter, prefix.length);
      const entry = end < 0 ? key : key.slice(0, end + 1);
      if (compareKeys(entry, after) <= 0 || entry === last) continue;
      if (objects.length + prefixes.length >= limit)
        return Promise.resolve({ objects, prefixes, next: last });
      last = entry;
      if (end >= 0) prefixes.push(entry);
      else objects.push(this.#listed(key));
    }
    return Promise.resolve({ objects, prefixes, next: undefined });
  }

  #listed(key: string): ListedBlob {
    const held = this.objects.get(key);
    return {
      key,
      size: held?.body.length ?? 0,
      etag: held?.etag ?? '',
      lastModified: held?.lastModified ?? this.now().toISOString(),
      ...(held?.archived && { archived: true }),
    };
  }

  get(key: string, options: GetOptions = {}): Promise<GetResult> {
    const held = this.objects.get(key);
    if (held === undefined) return Promise.resolve({ kind: 'missing' });
    if (options.ifMatch !== undefined && options.ifMatch !== held.etag)
      return Promise.resolve({ kind: 'changed' });
    const { range, into } = options;
    const asked =
      range === undefined ? held.body : held.body.subarray(range.offset, range.offset + range.length);
    if (into?.length === asked.length) into.set(asked);
    const body = into?.length === asked.length ? into : asked;
    return Promise.resolve({
      kind: 'found',
      chunks: body.length === 0 ? [] : [body],
      size: body.length,
      etag: held.etag,
    });
  }

  head(key: string): Promise<HeadResult | undefined> {
    const held = this.objects.get(key);
    if (held === undefined) return Promise.resolve(undefined);
    const sums = { ...keptOf('crc32', held.body), ...this.#sumsOf(key) };
    return Promise.resolve({ size: held.body.length, etag: held.etag, sums });
  }

  wholeCheck(key: string, etag: string): Promise<WholeCheck | undefined> {
    if (!this.hasChecksums || !this.objects.has(key) || !/^[0-9a-f]{32}$/.test(etag))
      return Promise.resolve(undefined);
    const digest = createHash('md5');
    return Promise.resolve({
      add: (chunk) => void digest.update(chunk),
      isIntact: () => digest.digest('hex') === etag,
      sums: this.#sumsOf(key),
    });
  }

  #sumsOf(key: string): KeptSums {
    return this.keptSum === 'none' ? {} : keptOf(this.keptSum, this.body(key));
  }

  put(key: string, body: Uint8Array, options: PutOptions = {}): Promise<PutResult> {
    const held = this.objects.get(key);
    if (options.only === 'absent' && held !== undefined) return Promise.resolve({ kind: 'refused' });
    if (typeof options.only === 'object' && options.only.etag !== held?.etag)
      return Promise.resolve({ kind: 'refused' });
    this.seed(key, Buffer.from(body));
    return Promise.resolve({ kind: 'written', etag: this.objects.get(key)?.etag ?? '' });
  }

  delete(key: string, ifMatch?: string): Promise<'deleted' | 'changed'> {
    const held = this.objects.get(key);
    if (ifMatch !== undefined && held !== undefined && held.etag !== ifMatch)
      return Promise.resolve('changed');
    this.objects.delete(key);
    return Promise.resolve('deleted');
  }

  async deleteMany(keys: readonly string[]): Promise<readonly KeyFailure[]> {
    for (const key of keys) await this.delete(key);
    return [];
  }

  createUpload(key: string, sum: SumKind): Promise<OpenUpload> {
    this.#uploadNumber += 1;
    const id = `upload-${this.#uploadNumber}`;
    this.uploads.set(id, { key, parts: new Map() });
    return Promise.resolve({ key, id, sum });
  }

  uploadPart(
    upload: OpenUpload,
    part: { number: number; sum: string },
    body: Uint8Array,
  ): Promise<UploadedPart> {
    const open = this.uploads.get(upload.id);
    if (open === undefined) return Promise.reject(new Error('NoSuchUpload'));
    const copy = Buffer.from(body);
    if (sumOf(upload.sum, copy) !== part.sum) return Promise.reject(new Error('BadDigest'));
    open.parts.set(part.number, copy);
    return Promise.resolve({
      etag: createHash('md5').update(copy).digest('hex'),
      [upload.sum]: part.sum,
    });
  }

  copyPart(upload: OpenUpload, part: { number: number }, source: PartSource): Promise<CopiedPart> {
    const open = this.uploads.get(upload.id);
    if (open === undefined) return Promise.reject(new Error('NoSuchUpload'));
    const held = this.objects.get(source.key);
    if (held === undefined) return Promise.resolve({ kind: 'missing' });
    if (held.etag !== source.etag) return Promise.resolve({ kind: 'changed' });
    if (!this.checksCopies) return Promise.resolve({ kind: 'unchecked' });
    const copy = Buffer.from(held.body.subarray(source.offset, source.offset + source.length));
    open.parts.set(part.number, copy);
    this.copiedBytes += copy.length;
    const etag = createHash('md5').update(copy).digest('hex');
    return Promise.resolve({ kind: 'copied', part: { etag, [upload.sum]: sumOf(upload.sum, copy) } });
  }

  completeUpload(
    upload: Upload,
    parts: readonly UploadedPart[],
  ): Promise<{ readonly etag: string } | 'gone'> {
    const open = this.uploads.get(upload.id);
    if (open === undefined) return Promise.resolve('gone');
    const bodies = parts.map((part, index) => {
      const body = open.parts.get(index + 1);
      if (body === undefined || createHash('md5').update(body).digest('hex') !== part.etag)
        throw new Error('InvalidPart');
      return body;
    });
    this.uploads.delete(upload.id);
    this.seed(upload.key, Buffer.concat(bodies));
    return Promise.resolve({ etag: this.objects.get(upload.key)?.etag ?? '' });
  }

  abortUpload(upload: Upload): Promise<void> {
    this.uploads.delete(upload.id);
    return Promise.resolve();
  }
}
