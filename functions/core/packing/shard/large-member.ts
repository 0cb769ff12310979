/**
 * A large member of a tar, of which the store copies most into the shard (UploadPartCopy). Its first bytes pass through
 * the worker in one part with its header, because only the last part of an object may be smaller than 5 MiB:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
 */
import { crc32 } from 'node:zlib';
import { HEAD_BYTES, isTextName } from '../media/media-facts.ts';
import { type BlobStore, joinChunks, type SourceRead, sourceFailure } from '../model/blob-store.ts';
import type { PlannedMember } from '../model/documents.ts';
import type { SampleLayout } from '../model/sample-layout.ts';
import type { StoredBody, StoredSums } from '../model/shard-format.ts';
import { crcWith, rangesOf } from './copied-ranges.ts';
import type { WindowLimits } from './fetch-window.ts';
import type { ReadBuffers } from './read-buffers.ts';
import type { ShardJob } from './shard-job.ts';
import type { ShardUpload } from './shard-upload.ts';

/**
 * The members of a sample that the store copies. It copies none where the dataset holds the sample's digest, because
 * the new bytes are compared with it, and no text that may be rejected for its faults.
 * @param from bytes of the smallest
 */
export function largeMembers(
  layout: SampleLayout,
  { format, held, packing }: Pick<ShardJob, 'format' | 'held' | 'packing'>,
  from: number,
): readonly PlannedMember[] {
  const copies = format.takes === 'samples' && format.copiesMembers === true;
  if (!copies || !layout.members.some(({ size }) => size >= from) || held?.has(layout.ordinal)) return NONE;
  const isRead = (name: string): boolean => packing.reject !== undefined && isTextName(name);
  return layout.members.flatMap((part) =>
    part.kind === 'source' && !part.prepares && part.member.size >= from && !isRead(part.name)
      ? [part.member]
      : [],
  );
}

const NONE: readonly [] = [];

export interface LargeMemberJob {
  readonly store: BlobStore;
  readonly window: WindowLimits;
  readonly readBuffers: ReadBuffers;
  readonly upload: ShardUpload;
  readonly member: PlannedMember;
  /** Throws if the sample must not be in the shard. */
  readonly inspect: (read: SourceRead, isHead: boolean) => void;
  readonly damaged: () => Error;
  /** Called if the store keeps no checksum of the source that a copy can be compared with. */
  readonly unchecked: () => void;
}

export class LargeMember implements StoredBody {
  readonly #job: LargeMemberJob;
  head: Uint8Array = new Uint8Array();
  /** The next byte of the source. */
  #at = 0;
  #crc = 0;

  constructor(job: LargeMemberJob) {
    this.#job = job;
  }

  async append(): Promise<StoredSums> {
    const { upload, member } = this.#job;
    await this.#begin();
    if (member.size - this.#at >= upload.copiedBytes.least) await this.#copyRest();
    await this.#send(member.size);
    return this.#compared();
  }

  /** Reads the head, and writes of it what is missing before a copy may follow. */
  async #begin(): Promise<void> {
    const { upload, member } = this.#job;
    const missing = Math.min(member.size, upload.missingBeforeCopy);
    await this.#read(0, Math.min(member.size, Math.max(HEAD_BYTES, missing)), async (bytes) => {
      this.head = Uint8Array.prototype.slice.call(bytes, 0, HEAD_BYTES);
      await this.#write(bytes.subarray(0, missing));
    });
  }

  /** If the store tells no checksum of what it copied, nothing is appended. */
  async #copyRest(): Promise<void> {
    const { upload, member } = this.#job;
    const ranges = rangesOf(member, this.#at, upload.copiedBytes.most);
    const copied = await upload.copyAll(ranges).catch(sourceFailure);
    if (copied.kind === 'unchecked') return;
    if (copied.kind !== 'copied') {
      this.#job.inspect(copied, false);
      throw new Error(`a copy of ${member.key} has no parts`);
    }
    this.#crc = crcWith(this.#crc, ranges, copied.parts);
    this.#at = member.size;
  }

  async #send(until: number): Promise<void> {
    const { pieceBytes } = this.#job.window;
    while (this.#at < until)
      await this.#read(this.#at, Math.min(pieceBytes, until - this.#at), (bytes) => this.#write(bytes));
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#crc = crc32(bytes, this.#crc);
    this.#at += bytes.length;
    await this.#job.upload.write(bytes);
  }

  async #read(offset: number, length: number, use: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    const { store, member, readBuffers, inspect } = this.#job;
    const into = readBuffers.isSmall(length) ? undefined : readBuffers.take(length);
    const read = await store
      .get(member.key, { ifMatch: member.etag, range: { offset, length }, into })
      .catch(sourceFailure);
    try {
      inspect(read, offset === 0);
      await use(read.kind === 'found' ? joinChunks(read.chunks) : new Uint8Array());
    } finally {
      if (into !== undefined) readBuffers.release(into);
    }
  }

  /** An upload has one kind of checksum, CRC-32. What the store keeps of another kind is listed, and compared later. */
  async #compared(): Promise<StoredSums> {
    const { store, member, unchecked, damaged } = this.#job;
    const sum = this.#crc.toString(16).padStart(8, '0');
    const kept = (await store.wholeCheck(member.key, member.etag))?.sums;
    if (kept?.crc32 !== undefined && kept.crc32 !== sum) throw damaged();
    if (kept?.crc32 === undefined && kept?.crc64nvme === undefined) unchecked();
    return { sha256: '', crc32: sum, ...(kept?.crc64nvme && { crc64nvme: kept.crc64nvme }) };
  }
}
