/**
 * Packs a large source by having the store copy it into the shard (UploadPartCopy). Only its head is read, for a header
 * and for the part before the copy, and its last byte. A source whose checksum does not follow from those of copied
 * ranges is read and compared with that. Small sources are never copied, because a copy costs as much as
 * 12 reads. https://aws.amazon.com/s3/pricing/
 */

import { createHash, type Hash } from 'node:crypto';
import { rejectedTexts } from '@tidewheel/declaration/packing-settings.ts';
import { bundlePlace } from '../arrivals/bundle-place.ts';
import {
  type BlobStore,
  joinChunks,
  type SourceRead,
  sourceFailure,
  type WholeCheck,
} from '../documents/blob-store.ts';
import type { MediaFacts, MemberLine, PlannedMember } from '../documents/documents.ts';
import type { Exclusion } from '../documents/rejections.ts';
import type { SampleLayout } from '../documents/sample-layout.ts';
import { HEAD_BYTES, UnfitSampleError, type WrittenMember } from '../documents/shard-format.ts';
import { keptBase64, keptSum, type RunningSum, startSum } from '../formats/running-sum.ts';
import { textScan } from '../media/media-facts.ts';
import type { TextScan } from '../media/text-facts.ts';
import { checkSample, excludeAll } from './check-sample.ts';
import { lineOf } from './member-list.ts';
import type { ShardJob } from './shard-job.ts';
import { rangesOf, type ShardUpload, sumOfRanges } from './shard-upload.ts';

/** A source that the store copies into the shard. */
export interface CopiedMember {
  readonly member: PlannedMember;
  /** How many of its first bytes are left out; throws UnfitSampleError. */
  readonly copyFrom: (head: Buffer) => number;
  /** Sees all bytes if they are read. */
  readonly text: () => TextScan | undefined;
}

export interface CopyJob extends CopiedMember {
  readonly store: BlobStore;
  readonly upload: ShardUpload;
  /** Bytes of one read, if the store cannot copy the source. */
  readonly pieceBytes: number;
  readonly damaged: () => Error;
}

export type CopiedSample =
  /** `unchecked`: the store keeps no checksum of the source that its bytes were compared with. */
  | { readonly kind: 'packed'; readonly line: MemberLine }
  /** Some bytes of it may have been written. */
  | { readonly kind: 'excluded'; readonly exclusion: Exclusion };

/** The store copies the one member of a sample that is larger than what is read at once. */
export function copiedMember(
  { members: [part, ...others] }: SampleLayout,
  { format, sourceSchema, packing }: Pick<ShardJob, 'format' | 'sourceSchema' | 'packing'>,
  largerThan: number,
): CopiedMember | undefined {
  // Faults are found by reading.
  const isRead = rejectedTexts(packing).length > 0;
  const copyFrom = format.takes === 'files' && !isRead ? format.copyFrom : undefined;
  if (copyFrom === undefined || part?.kind !== 'source' || others.length > 0) return undefined;
  const { member } = part;
  if (bundlePlace(member.etag) !== undefined) return undefined;
  if (member.size <= largerThan) return undefined;
  const isJsonLines = format.takes === 'files' && format.isJsonLines?.(packing) === true;
  const text = (): TextScan | undefined => textScan(part.name, isJsonLines);
  return { member, copyFrom: (head) => copyFrom(head, sourceSchema), text };
}

export async function copySample(job: CopyJob, layout: SampleLayout): Promise<CopiedSample> {
  try {
    const copy = new SourceCopy(job);
    const written = await copy.run();
    const line = lineOfCopy(layout, written, copy.facts);
    return { kind: 'packed', line: copy.isChecked ? line : { ...line, unchecked: true } };
  } catch (error: unknown) {
    if (error instanceof UnfitSampleError)
      return { kind: 'excluded', exclusion: excludeAll(layout.sample, error.reason) };
    if (!(error instanceof SourceGoneError)) throw error;
    const exclusion = checkSample(layout.sample, [error.read], () => false);
    if (exclusion === undefined) throw error;
    return { kind: 'excluded', exclusion };
  }
}

function lineOfCopy(layout: SampleLayout, written: WrittenMember, media: MediaFacts | undefined): MemberLine {
  const [part] = layout.members;
  if (part === undefined) throw new Error('a sample without members was copied');
  return lineOf(layout, { part, member: { ...part, body: [] }, ...(media && { media }) }, written);
}

const NEWLINE = Buffer.of(0x0a);

/** The planned version of the source is no longer there. */
class SourceGoneError extends Error {
  override readonly name = 'SourceGoneError';
  readonly read: SourceRead;
  constructor(key: string, read: SourceRead) {
    super(`${key} is not the object that was planned: ${read.kind}`);
    this.read = read;
  }
}

class SourceCopy {
  readonly #job: CopyJob;
  /** The next byte of the source. */
  #at = 0;
  /** Of the source up to there. */
  readonly #source: RunningSum;
  /** Of the bytes in the shard. */
  readonly #written: RunningSum;
  /** What the store keeps of the source. */
  #kept: WholeCheck | undefined;
  /** Of the bytes in the shard, if all of the source is read and compared. */
  #digest: Hash | undefined;
  #text: TextScan | undefined;

  constructor(job: CopyJob) {
    this.#job = job;
    this.#source = startSum(job.upload.sumKind);
    this.#written = startSum(job.upload.sumKind);
  }

  async run(): Promise<WrittenMember> {
    const { store, upload, member } = this.#job;
    this.#kept = await store.wholeCheck(member.key, member.etag);
    const isRead = this.#kept !== undefined && this.#kept.sums?.[upload.sumKind] === undefined;
    if (isRead) {
      this.#digest = createHash('sha256');
      this.#text = this.#job.text();
    }
    const last = await this.#read(member.size - 1, 1);
    const head = await this.#read(0, Math.min(member.size, HEAD_BYTES));
    const offset = upload.position;
    this.#at = this.#job.copyFrom(head);
    this.#see(head.subarray(0, this.#at));
    const { missingBeforeCopy, copiedBytes } = upload;
    const left = member.size - this.#at - missingBeforeCopy;
    if (isRead || left < copiedBytes.least) await this.#send(member.size);
    else {
      await this.#send(this.#at + missingBeforeCopy);
      await this.#copyRest();
    }
    this.#compare();
    if (!last.equals(NEWLINE) && upload.position > offset) await this.#write(NEWLINE);
    const size = upload.position - offset;
    if (this.#digest !== undefined) return { offset, size, sha256: this.#digest.digest('hex') };
    return { offset, size, sha256: '', ...keptSum(this.#written) };
  }

  /** Of a text all of which was read. Call it once, at the end. */
  get facts(): MediaFacts | undefined {
    return this.#text?.finish();
  }

  get isChecked(): boolean {
    return this.#kept !== undefined;
  }

  #compare(): void {
    const { upload, damaged } = this.#job;
    const sum = keptBase64(this.#kept?.sums ?? {}, upload.sumKind);
    const isIntact =
      this.#digest === undefined
        ? sum === undefined || sum === this.#source.base64
        : this.#kept?.isIntact() !== false;
    if (!isIntact) throw damaged();
  }

  /** The next bytes of the source. */
  #see(bytes: Uint8Array): void {
    if (this.#digest === undefined) this.#source.add(bytes);
    else {
      this.#kept?.add(bytes);
      this.#text?.add(bytes);
    }
  }

  async #copyRest(): Promise<void> {
    const { upload, member } = this.#job;
    const ranges = rangesOf(member, this.#at, upload.copiedBytes.most);
    const copied = await upload.copyAll(ranges).catch(sourceFailure);
    if (copied.kind === 'unchecked') return this.#send(member.size);
    if (copied.kind !== 'copied') throw new SourceGoneError(member.key, copied);
    await upload.appendCopied(copied.parts, ranges);
    const sum = sumOfRanges(upload.sumKind, ranges, copied.parts);
    for (const one of [this.#source, this.#written]) one.append(sum, member.size - this.#at);
    this.#at = member.size;
  }

  /** Reads and writes the source up to this byte. */
  async #send(until: number): Promise<void> {
    while (this.#at < until) {
      const bytes = await this.#read(this.#at, Math.min(this.#job.pieceBytes, until - this.#at));
      this.#see(bytes);
      await this.#write(bytes);
      this.#at += bytes.length;
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#digest === undefined) this.#written.add(bytes);
    else this.#digest.update(bytes);
    await this.#job.upload.write(bytes);
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    const { store, member } = this.#job;
    const range = length === member.size ? { size: length } : { range: { offset, length } };
    const read = await store.get(member.key, { ifMatch: member.etag, ...range }).catch(sourceFailure);
    if (read.kind !== 'found') throw new SourceGoneError(member.key, read);
    return Buffer.from(joinChunks(read.chunks));
  }
}
