/**
 * Puts one large source into a shard by having the store copy it (UploadPartCopy). Read are only its head, as far as it
 * has a header or the part before the copy is too small, and its last byte. Small sources are never copied: a copy costs
 * as much as 12 reads. https://aws.amazon.com/s3/pricing/
 */
import { crc32 } from 'node:zlib';
import { type BlobStore, type GetResult, joinChunks } from '../model/blob-store.ts';
import { combineCrc32 } from '../model/crc-combine.ts';
import type { PlannedMember } from '../model/documents.ts';
import { HEAD_BYTES, type Placed } from '../model/shard-format.ts';
import { crcOf, type ShardUpload } from './shard-upload.ts';

export interface CopyJob {
  readonly store: BlobStore;
  readonly upload: ShardUpload;
  readonly member: PlannedMember;
  /** How many of the first bytes are left out; throws Unfit. */
  readonly copyFrom: (head: Buffer) => number;
  /** What is read at once, where the store cannot say what it copied. */
  readonly pieceBytes: number;
}

export type CopyOutcome =
  | { readonly kind: 'packed'; readonly placed: Placed & { readonly crc32: string } }
  /** Something may have been written of it. */
  | { readonly kind: 'left'; readonly read: GetResult };

const NEWLINE = Buffer.of(0x0a);

/** The source is another one by now, or none. */
class SourceLeft extends Error {
  override readonly name = 'SourceLeft';
  readonly read: GetResult;
  constructor(read: GetResult) {
    super('the source is not the one that was planned');
    this.read = read;
  }
}

export async function copySource(job: CopyJob): Promise<CopyOutcome> {
  try {
    return { kind: 'packed', placed: await new SourceCopy(job).run() };
  } catch (error: unknown) {
    if (error instanceof SourceLeft) return { kind: 'left', read: error.read };
    throw error;
  }
}

class SourceCopy {
  readonly #job: CopyJob;
  /** Of the source; what comes next. */
  #at = 0;
  #crc = 0;

  constructor(job: CopyJob) {
    this.#job = job;
  }

  async run(): Promise<Placed & { readonly crc32: string }> {
    const { upload, member } = this.#job;
    const last = await this.#read(member.size - 1, 1);
    const head = await this.#read(0, Math.min(member.size, HEAD_BYTES));
    const offset = upload.position;
    this.#at = this.#job.copyFrom(head);
    const { missingBeforeCopy, copiedBytes } = upload;
    const left = member.size - this.#at - missingBeforeCopy;
    if (left < copiedBytes.least) await this.#send(member.size);
    else {
      await this.#send(this.#at + missingBeforeCopy);
      await this.#copyRest();
    }
    if (!last.equals(NEWLINE) && upload.position > offset) await this.#write(NEWLINE);
    const size = upload.position - offset;
    return { offset, size, sha256: '', crc32: this.#crc.toString(16).padStart(8, '0') };
  }

  /** In ranges of about the same size, none of them too small. */
  async #copyRest(): Promise<void> {
    const { upload, member } = this.#job;
    const left = member.size - this.#at;
    const range = Math.ceil(left / Math.ceil(left / upload.copiedBytes.most));
    while (this.#at < member.size) {
      const length = Math.min(range, member.size - this.#at);
      const { key, etag } = member;
      const copied = await upload.copy({ key, etag, offset: this.#at, length });
      if (copied.kind === 'unchecked') return this.#send(member.size);
      if (copied.kind !== 'copied') throw new SourceLeft(copied);
      this.#crc = combineCrc32(this.#crc, crcOf(copied.part), length);
      this.#at += length;
    }
  }

  /** Reads and writes up to a byte of the source. */
  async #send(until: number): Promise<void> {
    while (this.#at < until) {
      const bytes = await this.#read(this.#at, Math.min(this.#job.pieceBytes, until - this.#at));
      await this.#write(bytes);
      this.#at += bytes.length;
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#crc = crc32(bytes, this.#crc);
    await this.#job.upload.write(bytes);
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    const { store, member } = this.#job;
    const range = length === member.size ? {} : { range: { offset, length } };
    const read = await store.get(member.key, { ifMatch: member.etag, ...range });
    if (read.kind !== 'found') throw new SourceLeft(read);
    return Buffer.from(joinChunks(read.chunks));
  }
}
