/** Uploads one shard. It fills a few part buffers in turn and sends one while the next one fills. */

import type {
  BlobStore,
  CopiedPart,
  KeptSums,
  OpenUpload,
  PartSource,
  SumKind,
  UploadedPart,
} from '../documents/blob-store.ts';
import type { PlannedMember } from '../documents/documents.ts';
import { keptSum, type RunningSum, startSum } from '../formats/running-sum.ts';

export interface UploadLimits {
  /** At least 5 MiB: S3 takes no smaller part, except for the last one. */
  readonly partBytes: number;
  /** Parts sent at once; one more is being filled. */
  readonly parallelParts: number;
  /** Bytes of a part that the store copies. S3 wants 5 MiB at least; a smaller part is copied sooner. */
  readonly copiedBytes?: { readonly least: number; readonly most: number };
  /** Bytes from which the store copies a member of a tar; more than one piece that is read. */
  readonly largeMemberBytes?: number;
}

/** The requests for two parts cost more than the reading of fewer bytes. */
export const LARGE_MEMBER_BYTES = 16 * 1024 * 1024;

/** Copies at once: they take no memory here. S3 copies some 100 MB/s each. */
const PARALLEL_COPIES = 8;

/** Nothing is appended unless every range was copied. */
export type CopiedRanges =
  | { readonly kind: 'copied'; readonly parts: readonly UploadedPart[] }
  | Exclude<CopiedPart, { readonly kind: 'copied' }>;

const COPIED_BYTES = { least: 5 * 1024 * 1024, most: 256 * 1024 * 1024 };

/** Three buffers take 36 MiB. 10,000 parts of 12 MiB are three times the largest object that is packed. */
export const DEFAULT_UPLOAD: UploadLimits = { partBytes: 12 * 1024 * 1024, parallelParts: 2 };

export interface UploadedShard {
  readonly upload: OpenUpload;
  readonly parts: readonly UploadedPart[];
  readonly bytes: number;
  /** Of the whole shard: the one of the upload's kind. */
  readonly sums: KeptSums;
}

/** Shards share the buffers, which are most of the memory that packing holds. */
export class PartBuffers {
  readonly #free: Buffer[] = [];
  readonly limits: UploadLimits;

  constructor(limits: UploadLimits = DEFAULT_UPLOAD) {
    this.limits = limits;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.limits.partBytes);
  }

  giveBack(buffer: Buffer): void {
    this.#free.push(buffer);
  }
}

/** A write waits only when a part is full and no buffer is free. Nothing is visible before the upload is completed. */
export class ShardUpload {
  readonly #store: BlobStore;
  readonly #upload: OpenUpload;
  readonly #buffers: PartBuffers;
  readonly #parts: UploadedPart[] = [];
  readonly #sending = new Set<Promise<void>>();
  #failure: Error | undefined;
  #buffer: Buffer;
  #filled = 0;
  #position = 0;
  /** Of the parts. */
  readonly #sum: RunningSum;
  /** Of the first `#summed` bytes of the part that is being filled. */
  #partSum: RunningSum;
  #summed = 0;
  #number = 0;

  constructor(store: BlobStore, upload: OpenUpload, buffers: PartBuffers) {
    this.#store = store;
    this.#upload = upload;
    this.#sum = startSum(upload.sum);
    this.#partSum = startSum(upload.sum);
    this.#buffers = buffers;
    this.#buffer = buffers.take();
  }

  /** Bytes written so far. */
  get position(): number {
    return this.#position;
  }

  get room(): number {
    return this.#buffer.length - this.#filled;
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    if (bytes.length >= this.room) return this.#writeOn(bytes);
    this.#buffer.set(bytes, this.#filled);
    this.#filled += bytes.length;
    this.#position += bytes.length;
    return undefined;
  }

  async #writeOn(bytes: Uint8Array): Promise<void> {
    let from = 0;
    while (from < bytes.length) {
      const fits = Math.min(bytes.length - from, this.#buffer.length - this.#filled);
      this.#buffer.set(fits === bytes.length ? bytes : bytes.subarray(from, from + fits), this.#filled);
      this.#filled += fits;
      from += fits;
      if (this.#filled === this.#buffer.length) await this.#send();
    }
    this.#position += bytes.length;
  }

  get sumKind(): SumKind {
    return this.#upload.sum;
  }

  /** Memory of the part that is being filled, for its next bytes; undefined without room. `fill` makes them count. */
  reserve(length: number): Uint8Array | undefined {
    return length < this.room ? this.#buffer.subarray(this.#filled, this.#filled + length) : undefined;
  }

  /** The first reserved bytes are there. @param sum of them, which the store compares with what it is sent */
  fill(length: number, sum: string): void {
    this.#sumUp();
    this.#partSum.append(sum, length);
    this.#filled += length;
    this.#summed = this.#filled;
    this.#position += length;
  }

  #sumUp(): void {
    this.#partSum.add(this.#buffer.subarray(this.#summed, this.#filled));
    this.#summed = this.#filled;
  }

  /** Bytes of a copied part. */
  get copiedBytes(): { readonly least: number; readonly most: number } {
    return this.#buffers.limits.copiedBytes ?? COPIED_BYTES;
  }

  /** Bytes to be written before a copy may follow, because only the last part of an object may be small. */
  get missingBeforeCopy(): number {
    return this.#filled === 0 ? 0 : Math.max(0, this.copiedBytes.least - this.#filled);
  }

  /**
   * Copies ranges of other objects, in order, without reading them. Each is a part, after that which is being filled.
   * They are in the shard once `appendCopied` was called; until then, no more may be written than fits the part.
   */
  async copyAll(sources: readonly PartSource[]): Promise<CopiedRanges> {
    const first = this.#number + (this.#filled > 0 || this.missingBeforeCopy > 0 ? 2 : 1);
    const parts: UploadedPart[] = [];
    for (let from = 0; from < sources.length; from += PARALLEL_COPIES) {
      const batch = sources
        .slice(from, from + PARALLEL_COPIES)
        .map((source, index) => this.#store.copyPart(this.#upload, { number: first + from + index }, source));
      // A copy that is under way could outlive the upload, so each is waited for.
      await Promise.allSettled(batch);
      for (const copied of await Promise.all(batch)) {
        // Parts that are not listed when the upload is completed are dropped, and numbers may be sent again.
        if (copied.kind !== 'copied') return copied;
        parts.push(copied.part);
      }
    }
    return { kind: 'copied', parts };
  }

  async appendCopied(parts: readonly UploadedPart[], sources: readonly PartSource[]): Promise<void> {
    if (this.#filled > 0) await this.#send();
    for (const [index, part] of parts.entries()) {
      const length = sources[index]?.length ?? 0;
      this.#parts[this.#number] = part;
      this.#number += 1;
      this.#sum.append(part[this.#upload.sum] ?? '', length);
      this.#position += length;
    }
  }

  /** The last `length` bytes written, while the part that is being filled holds all of them. */
  recent(length: number): Uint8Array | undefined {
    return length <= this.#filled ? this.#buffer.subarray(this.#filled - length, this.#filled) : undefined;
  }

  async finish(): Promise<UploadedShard> {
    if (this.#filled > 0 || this.#number === 0) await this.#send();
    this.#buffers.giveBack(this.#buffer);
    await Promise.all(this.#sending);
    if (this.#failure !== undefined) throw this.#failure;
    return { upload: this.#upload, parts: this.#parts, bytes: this.#position, sums: keptSum(this.#sum) };
  }

  /** Waits for the parts that are being sent, then aborts the upload. */
  async abandon(): Promise<void> {
    this.#buffers.giveBack(this.#buffer);
    await Promise.all(this.#sending);
    await this.#store.abortUpload(this.#upload);
  }

  async #send(): Promise<void> {
    const buffer = this.#buffer;
    const body = buffer.subarray(0, this.#filled);
    this.#sumUp();
    const sum = this.#partSum.base64;
    this.#sum.append(sum, body.length);
    this.#number += 1;
    const sending = this.#sendPart({ number: this.#number, sum }, body).finally(() => {
      this.#buffers.giveBack(buffer);
      this.#sending.delete(sending);
    });
    this.#sending.add(sending);
    while (this.#sending.size >= this.#buffers.limits.parallelParts) await Promise.race(this.#sending);
    if (this.#failure !== undefined) throw this.#failure;
    this.#buffer = this.#buffers.take();
    this.#filled = 0;
    this.#summed = 0;
    this.#partSum = startSum(this.#upload.sum);
  }

  async #sendPart(part: { number: number; sum: string }, body: Uint8Array): Promise<void> {
    try {
      this.#parts[part.number - 1] = await this.#store.uploadPart(this.#upload, part, body);
    } catch (error: unknown) {
      this.#failure ??=
        error instanceof Error ? error : new Error('a part could not be sent', { cause: error });
    }
  }
}

/**
 * The ranges in which the store copies a source, from a byte of the source to its end. The ranges have about the same
 * size, because the last one must not be too small.
 * @param most bytes of a range
 */
export function rangesOf({ key, etag, size }: PlannedMember, from: number, most: number): PartSource[] {
  const each = Math.ceil((size - from) / Math.ceil((size - from) / most));
  const ranges: PartSource[] = [];
  for (let offset = from; offset < size; offset += each)
    ranges.push({ key, etag, offset, length: Math.min(each, size - offset) });
  return ranges;
}

/** The checksum of all ranges together, in base64. */
export function sumOfRanges(
  kind: SumKind,
  ranges: readonly PartSource[],
  parts: readonly UploadedPart[],
): string {
  const sum = startSum(kind);
  for (const [index, part] of parts.entries()) sum.append(part[kind] ?? '', ranges[index]?.length ?? 0);
  return sum.base64;
}
