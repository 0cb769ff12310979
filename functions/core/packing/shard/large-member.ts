/**
 * A large member of a tar, of which the store copies most into the shard (UploadPartCopy). Its first bytes pass through
 * the worker in one part with its header, because only the last part of an object may be smaller than 5 MiB:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
 *
 * If S3 keeps a checksum of the source of the upload's kind, the first bytes are not summed here. Their checksum follows
 * from the source's and from those of the copied ranges, and S3 refuses the part if it got other bytes. So the shard is
 * compared with the source from end to end.
 */
import { keptBase64, keptSum, SumCheck, startSum, sumOf, sumOfFirst } from '../formats/running-sum.ts';
import { HEAD_BYTES, isTextName } from '../media/media-facts.ts';
import {
  type BlobStore,
  joinChunks,
  type KeptSums,
  type SourceRead,
  sourceFailure,
} from '../model/blob-store.ts';
import type { PlannedMember } from '../model/documents.ts';
import type { SampleLayout } from '../model/sample-layout.ts';
import type { StoredBody, StoredSums } from '../model/shard-format.ts';
import { rangesOf, sumOfRanges } from './copied-ranges.ts';
import type { WindowLimits } from './fetch-window.ts';
import type { ReadBuffers } from './read-buffers.ts';
import type { ShardJob } from './shard-job.ts';
import type { ShardUpload } from './shard-upload.ts';
import type { SourceSums } from './source-sums.ts';

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
  readonly sources: SourceSums;
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
  /** What the store keeps of the whole source. */
  #kept: KeptSums = {};

  constructor(job: LargeMemberJob) {
    this.#job = job;
  }

  async append(): Promise<StoredSums> {
    const { sources, member, upload, unchecked } = this.#job;
    this.#kept = await sources.of(member);
    if (!this.#isKept) unchecked();
    const first = upload.missingBeforeCopy;
    const isLarge = member.size - first >= upload.copiedBytes.least;
    const copied = isLarge ? await this.#copy(first) : undefined;
    return { sha256: '', ...this.#kept, ...(copied ?? (await this.#send())) };
  }

  get #isKept(): boolean {
    return this.#kept.crc32 !== undefined || this.#kept.crc64nvme !== undefined;
  }

  /**
   * @param first bytes that must be sent before a copy may follow
   * @returns the source's checksum; undefined if the store did not say what it copied, and then nothing is appended
   */
  async #copy(first: number): Promise<KeptSums | undefined> {
    const { upload, member, inspect } = this.#job;
    const ranges = rangesOf(member, first, upload.copiedBytes.most);
    const length = Math.min(member.size, Math.max(HEAD_BYTES, first));
    const into = upload.reserve(length);
    // A copy that is under way could outlive the upload, so both are waited for.
    const [reading, copying] = await Promise.allSettled([
      this.#read({ offset: 0, length, into }),
      upload.copyAll(ranges).catch(sourceFailure),
    ]);
    if (reading.status === 'rejected') throw reading.reason;
    if (copying.status === 'rejected') throw copying.reason;
    const [bytes, copied] = [reading.value, copying.value];
    this.head = Uint8Array.prototype.slice.call(bytes, 0, HEAD_BYTES);
    if (copied.kind === 'unchecked') return undefined;
    if (copied.kind !== 'copied') {
      inspect(copied, false);
      throw new Error(`a copy of ${member.key} has no parts`);
    }
    const sent = bytes.subarray(0, first);
    const sums = this.#sumsOf(sent, sumOfRanges(upload.sumKind, ranges, copied.parts));
    if (into === undefined) await this.#sendSummed(sent, sums.sent);
    else {
      if (!isWithin(bytes, into)) into.set(sent);
      upload.fill(first, sums.sent);
    }
    await upload.appendCopied(copied.parts, ranges);
    return keptSum({ kind: upload.sumKind, base64: sums.all });
  }

  async #sendSummed(bytes: Uint8Array, sum: string): Promise<void> {
    const { upload, damaged } = this.#job;
    if (sumOf(upload.sumKind, bytes) !== sum) throw damaged();
    await upload.write(bytes);
  }

  /** Of the bytes that were sent, and of the whole member. */
  #sumsOf(sent: Uint8Array, copied: string): { readonly sent: string; readonly all: string } {
    const { upload, member, damaged } = this.#job;
    const kind = upload.sumKind;
    const kept = keptBase64(this.#kept, kind);
    const copiedBytes = member.size - sent.length;
    if (kept !== undefined) {
      if (sent.length === 0 && kept !== copied) throw damaged();
      return { sent: sumOfFirst(kind, kept, copied, copiedBytes), all: kept };
    }
    const own = sumOf(kind, sent);
    const all = startSum(kind);
    all.append(own, sent.length);
    all.append(copied, copiedBytes);
    return { sent: own, all: all.base64 };
  }

  /** Reads and writes all of it. */
  async #send(): Promise<KeptSums> {
    const { upload, member, window, readBuffers, damaged } = this.#job;
    const sum = startSum(upload.sumKind);
    const check = this.#isKept ? new SumCheck(this.#kept) : undefined;
    for (let offset = 0; offset < member.size; offset += window.pieceBytes) {
      const length = Math.min(window.pieceBytes, member.size - offset);
      const into = readBuffers.isSmall(length) ? undefined : readBuffers.take(length);
      try {
        const bytes = await this.#read({ offset, length, into });
        if (offset === 0) this.head = Uint8Array.prototype.slice.call(bytes, 0, HEAD_BYTES);
        sum.add(bytes);
        check?.add(bytes);
        await upload.write(bytes);
      } finally {
        if (into !== undefined) readBuffers.release(into);
      }
    }
    if (check?.problem !== undefined) throw damaged();
    return keptSum(sum);
  }

  async #read({ offset, length, into }: PieceToRead): Promise<Uint8Array> {
    const { store, member, inspect } = this.#job;
    const read = await store
      .get(member.key, { ifMatch: member.etag, range: { offset, length }, into })
      .catch(sourceFailure);
    inspect(read, offset === 0);
    return read.kind === 'found' ? joinChunks(read.chunks) : new Uint8Array();
  }
}

interface PieceToRead {
  readonly offset: number;
  readonly length: number;
  /** Memory that the store may use. */
  readonly into: Uint8Array | undefined;
}

const isWithin = (bytes: Uint8Array, memory: Uint8Array): boolean =>
  bytes.buffer === memory.buffer && bytes.byteOffset === memory.byteOffset;
