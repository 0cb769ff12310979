/**
 * A large member of a tar, of which the store copies most into the shard (UploadPartCopy). Its first bytes pass through
 * the worker in one part with its header, because only the last part of an object may be smaller than 5 MiB:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
 *
 * If S3 keeps a checksum of the source of the upload's kind, the first bytes are not summed here. Their checksum follows
 * from the source's and from those of the copied ranges, and S3 refuses the part if it got other bytes. So the shard is
 * compared with the source from end to end. A source of which S3 keeps only something else, such as a SHA-256 or the MD5
 * in a plain ETag, is read and compared with that.
 */

import { createHash } from 'node:crypto';
import { rejectedTexts } from '@tidewheel/declaration/packing-settings.ts';
import { bundlePlace } from '../arrivals/bundle-place.ts';
import {
  type BlobStore,
  joinChunks,
  type KeptSums,
  type SourceRead,
  sourceFailure,
  sumsDiffer,
  type WholeCheck,
} from '../documents/blob-store.ts';
import type { MediaFacts, PlannedMember } from '../documents/documents.ts';
import type { SampleLayout } from '../documents/sample-layout.ts';
import type { StoredBody, StoredSums } from '../documents/shard-format.ts';
import { keptBase64, keptSum, startSum, sumOf, sumOfFirst } from '../formats/running-sum.ts';
import { isTextName, MEMBER_HEAD_BYTES, textScan } from '../media/media-facts.ts';
import type { WindowLimits } from './fetch-window.ts';
import type { ReadBuffers } from './read-buffers.ts';
import type { SourceSums } from './sample-reads.ts';
import type { ShardJob } from './shard-job.ts';
import { rangesOf, type ShardUpload, sumOfRanges } from './shard-upload.ts';

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
  const mayReject = rejectedTexts(packing).length > 0;
  const isRead = (name: string): boolean => mayReject && isTextName(name);
  return layout.members.flatMap((part) =>
    part.kind === 'source' && !part.prepares && isLarge(part.member, from) && !isRead(part.name)
      ? [part.member]
      : [],
  );
}

/** Members of bundles are read. */
const isLarge = ({ size, etag }: PlannedMember, from: number): boolean =>
  size >= from && bundlePlace(etag) === undefined;

const NONE: readonly [] = [];

export interface LargeMemberJob {
  readonly store: BlobStore;
  readonly sources: SourceSums;
  readonly window: WindowLimits;
  readonly readBuffers: ReadBuffers;
  readonly upload: ShardUpload;
  readonly member: PlannedMember;
  /** Path in the shard. */
  readonly name: string;
  /** Throws if the sample must not be in the shard. */
  readonly inspect: (read: SourceRead, isHead: boolean) => void;
  readonly damaged: () => Error;
  /** Called if the store keeps nothing that the source can be compared with. */
  readonly unchecked: () => void;
}

export class LargeMember implements StoredBody {
  readonly #job: LargeMemberJob;
  head: Uint8Array = new Uint8Array();
  facts: MediaFacts | undefined;
  /** What the store keeps of the whole source. */
  #kept: KeptSums = {};

  constructor(job: LargeMemberJob) {
    this.#job = job;
  }

  async append(): Promise<StoredSums> {
    const { sources, member, upload, unchecked } = this.#job;
    const check = await sources.take(member);
    this.#kept = check?.sums ?? {};
    if (check === undefined) unchecked();
    else if (this.#kept[upload.sumKind] === undefined) return { sha256: await this.#sendCompared(check) };
    const first = upload.missingBeforeCopy;
    const isLarge = member.size - first >= upload.copiedBytes.least;
    const copied = isLarge ? await this.#copy(first) : undefined;
    return { sha256: '', ...(copied ?? (await this.#sendSummedUp())) };
  }

  /**
   * @param first bytes that must be sent before a copy may follow
   * @returns the source's checksum; undefined if the store did not say what it copied, and then nothing is appended
   */
  async #copy(first: number): Promise<KeptSums | undefined> {
    const { upload, member, inspect } = this.#job;
    const ranges = rangesOf(member, first, upload.copiedBytes.most);
    const length = Math.min(member.size, Math.max(MEMBER_HEAD_BYTES, first));
    const into = upload.reserve(length);
    // A copy that is under way could outlive the upload, so both are waited for.
    const [reading, copying] = await Promise.allSettled([
      this.#read({ offset: 0, length, into }),
      upload.copyAll(ranges).catch(sourceFailure),
    ]);
    if (reading.status === 'rejected') throw reading.reason;
    if (copying.status === 'rejected') throw copying.reason;
    const [bytes, copied] = [reading.value, copying.value];
    this.head = Uint8Array.prototype.slice.call(bytes, 0, MEMBER_HEAD_BYTES);
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

  async #sendSummedUp(): Promise<KeptSums> {
    const { upload, damaged } = this.#job;
    const sum = startSum(upload.sumKind);
    await this.#send((bytes) => sum.add(bytes));
    const found = keptSum(sum);
    if (sumsDiffer(found, this.#kept)) throw damaged();
    return found;
  }

  /** No checksum of the copied ranges gives one that the store keeps of this source. @returns its digest */
  async #sendCompared(check: WholeCheck): Promise<string> {
    const { damaged, name } = this.#job;
    const digest = createHash('sha256');
    const text = textScan(name, false);
    await this.#send((bytes) => {
      check.add(bytes);
      digest.update(bytes);
      text?.add(bytes);
    });
    if (!check.isIntact()) throw damaged();
    this.facts = text?.finish();
    return digest.digest('hex');
  }

  /** Reads and writes all of it. */
  async #send(see: (bytes: Uint8Array) => void): Promise<void> {
    const { upload, member, window, readBuffers } = this.#job;
    for (let offset = 0; offset < member.size; offset += window.pieceBytes) {
      const length = Math.min(window.pieceBytes, member.size - offset);
      const into = readBuffers.take(length);
      try {
        const bytes = await this.#read({ offset, length, into });
        if (offset === 0) this.head = Uint8Array.prototype.slice.call(bytes, 0, MEMBER_HEAD_BYTES);
        see(bytes);
        await upload.write(bytes);
      } finally {
        if (into !== undefined) readBuffers.release(into);
      }
    }
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
