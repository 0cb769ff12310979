/** Writes samples into a shard in its format, and a line for each member into its list. */
import { rejectedTexts } from '@tidewheel/declaration/packing-settings.ts';
import type { MediaFacts, MemberLine, PlannedMember, PlannedSample } from '../documents/documents.ts';
import { sampleDigest } from '../documents/held-samples.ts';
import type { MemberLayout, SampleLayout } from '../documents/sample-layout.ts';
import {
  type EncodedMember,
  type ShardEncoder,
  type ShardSink,
  type StoredBody,
  UnfitSampleError,
  type WrittenMember,
} from '../documents/shard-format.ts';
import { type OwnLabel, ownLabel } from '../labels/sample-labels.ts';
import { MEMBER_HEAD_BYTES, mediaFacts, textScan } from '../media/media-facts.ts';
import type { TextScan } from '../media/text-facts.ts';
import { lineOf, MemberList } from './member-list.ts';
import type { PreparedBytes } from './shard-images.ts';
import { isTooLarge, type ShardJob } from './shard-job.ts';

export type PartBody = (part: MemberLayout) => EncodedMember['body'] | StoredBody;

export class SampleWriter {
  readonly #encoder: ShardEncoder;
  readonly #sink: ShardSink;
  readonly #job: Pick<ShardJob, 'format' | 'held' | 'packing'>;
  readonly list = new MemberList();
  /** Sources of which the store has no checksum, until they are listed. */
  readonly unchecked = new Set<PlannedMember>();
  /** Written samples whose bytes the dataset holds already. */
  readonly unchanged: PlannedSample[] = [];
  /** Written so far. */
  samples = 0;

  constructor(encoder: ShardEncoder, sink: ShardSink, job: Pick<ShardJob, 'format' | 'held' | 'packing'>) {
    this.#encoder = encoder;
    this.#sink = sink;
    this.#job = job;
  }

  /**
   * @param images prepared images, which replace the members that they were made of
   * @returns a promise only if something has to wait
   * @throws UnfitSampleError, or the promise rejects with it
   */
  write(
    layout: SampleLayout,
    images: ReadonlyMap<PlannedMember, PreparedBytes>,
    bodyOf: PartBody,
  ): Promise<void> | undefined {
    const imageOf = (part: MemberLayout): PreparedBytes | undefined =>
      images.size > 0 && part.kind === 'source' ? images.get(part.member) : undefined;
    const members = layout.members.map((part): EncodedMember => {
      const image = imageOf(part);
      return image === undefined
        ? this.#withBody(part, bodyOf(part))
        : { ...part, size: image.bytes.length, body: [image.bytes] };
    });
    if (images.size > 0 && isTooLarge({ members }, this.#job.format)) throw new UnfitSampleError('tooLarge');
    this.#checkTexts(layout, members);
    const enlist = (written: readonly WrittenMember[]): void => {
      for (const member of members) this.#checkStreamed(member);
      const lines: MemberLine[] = [];
      for (const [index, member] of members.entries()) {
        const [part, at] = [layout.members[index], written[index]];
        if (part === undefined || at === undefined) continue;
        const { source, media = this.#factsOf(part, member) } = imageOf(part) ?? {};
        const line = lineOf(layout, { part, member, ...(source && { source }), ...(media && { media }) }, at);
        const own = this.#ownLabel(layout, part, member);
        lines.push(this.#marked(part, own === undefined ? line : { ...line, ...own }));
      }
      for (const line of lines) this.list.add(line);
      if (this.#isUnchanged(layout, lines)) this.unchanged.push(layout.sample);
      this.samples += 1;
    };
    const written = this.#encoder.add(this.#sink, layout, members);
    if (written instanceof Promise) return written.then(enlist);
    enlist(written);
    return undefined;
  }

  /** @throws UnfitSampleError before a byte of the sample is written */
  #checkTexts(layout: SampleLayout, members: readonly EncodedMember[]): void {
    const reject = rejectedTexts(this.#job.packing);
    if (reject.length === 0) return;
    for (const [index, member] of members.entries()) {
      const part = layout.members[index];
      const facts =
        part === undefined || member.body instanceof Head ? undefined : this.#factsOf(part, member);
      for (const reason of reject) if (facts?.[reason] !== undefined) throw new UnfitSampleError(reason);
    }
  }

  /** A text that was read while it was written. @throws UnfitSampleError */
  #checkStreamed({ body, column, stored }: EncodedMember): void {
    const facts = stored?.facts ?? (body instanceof Head ? body.facts : undefined);
    if (facts === undefined) return;
    const { format, packing } = this.#job;
    const stopsAt = format.takes === 'samples' ? (format.stopsAt?.(column) ?? []) : [];
    for (const reason of [...stopsAt, ...rejectedTexts(packing)])
      if (facts[reason] !== undefined) throw new UnfitSampleError(reason);
  }

  #withBody(part: MemberLayout, body: EncodedMember['body'] | StoredBody): EncodedMember {
    if ('append' in body) return { ...part, body: [], stored: body };
    if (!(Symbol.asyncIterator in body)) return { ...part, body };
    return { ...part, body: new Head(body, textScan(part.name, this.#isJsonLines)) };
  }

  get #isJsonLines(): boolean {
    const { format, packing } = this.#job;
    return format.takes === 'files' && format.isJsonLines?.(packing) === true;
  }

  #factsOf(part: MemberLayout, { name, body, size, stored }: EncodedMember): MediaFacts | undefined {
    if (part.kind === 'made') return undefined;
    if (stored !== undefined) return stored.facts ?? mediaFacts(name, [stored.head], size);
    if (body instanceof Head)
      return body.facts ?? (body.text === undefined ? mediaFacts(name, body.head, size) : undefined);
    return Symbol.asyncIterator in body ? undefined : mediaFacts(name, body, size, this.#isJsonLines);
  }

  /** Of a label file that is held as a whole: a larger one is no class. */
  #ownLabel(
    { declared }: SampleLayout,
    part: MemberLayout,
    { body, stored }: EncodedMember,
  ): OwnLabel | undefined {
    const { format, packing } = this.#job;
    if (part.kind === 'made' || !part.isLabel || stored !== undefined) return undefined;
    if (format.takes !== 'samples' || Symbol.asyncIterator in body) return undefined;
    const { labelNumber } = format;
    return ownLabel(body, declared, labelNumber && ((label) => labelNumber(label, packing)));
  }

  #isUnchanged({ ordinal }: SampleLayout, lines: readonly MemberLine[]): boolean {
    const held = this.#job.held?.get(ordinal);
    if (held === undefined) return false;
    const sources = lines.flatMap(({ key, sha256, source }) =>
      key === undefined ? [] : [{ key, sha256: source?.sha256 ?? sha256 }],
    );
    return sampleDigest(sources) === held.digest;
  }

  #marked(part: MemberLayout, line: MemberLine): MemberLine {
    const isUnchecked =
      this.unchecked.size > 0 && part.kind === 'source' && this.unchecked.delete(part.member);
    return isUnchecked ? { ...line, unchecked: true } : line;
  }

  /** Adds the line of a sample of one member that the store copied into the shard. */
  enlistCopied(line: MemberLine): void {
    this.list.add(line);
    this.samples += 1;
  }
}

/** A member that is read while it is written: its first bytes, or all facts of a text. */
class Head {
  readonly #body: AsyncIterable<Uint8Array>;
  readonly head: Uint8Array[] = [];
  /** Undefined for a member that is no text. */
  readonly text: TextScan | undefined;
  /** A text's facts, once its last byte has passed. */
  facts: MediaFacts | undefined;

  constructor(body: AsyncIterable<Uint8Array>, text: TextScan | undefined) {
    this.#body = body;
    this.text = text;
  }

  /** Copies what it keeps, because the chunk's memory is used again. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    let missing = MEMBER_HEAD_BYTES;
    for await (const chunk of this.#body) {
      if (missing > 0) this.head.push(Uint8Array.prototype.slice.call(chunk, 0, missing));
      missing -= chunk.length;
      this.text?.add(chunk);
      yield chunk;
    }
    this.facts = this.text?.finish();
  }
}
