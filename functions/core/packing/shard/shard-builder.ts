/** Builds one shard: sources in, parts out, and a line for every member. Nothing of it is visible until it is decided. */

import type { GetResult } from '../model/blob-store.ts';
import type { PlannedMember, PlannedSample } from '../model/documents.ts';
import { Lookahead } from '../model/lookahead.ts';
import type { Exclusion } from '../model/rejections.ts';
import type { LaidSample } from '../model/sample-layout.ts';
import { hasFixedLayout, type ShardEncoder, type ShardSink, Unfit } from '../model/shard-format.ts';
import { type CopiedMember, copiedMember, copySample } from './copy-sample.ts';
import { FetchWindow, piecesOf } from './fetch-window.ts';
import { GzipSink } from './gzip-sink.ts';
import { excludeAll, judgeSample, takesImages } from './judge-sample.ts';
import { layOutAll, layOutFirst, samplesBut } from './lay-out-shard.ts';
import { prepareImages } from './prepare-images.ts';
import { SampleWriter } from './sample-writer.ts';
import { NO_IMAGES, preparedOf, type Ready } from './shard-images.ts';
import {
  type BuiltShard,
  type PackDeps,
  placeOf,
  SamplesSpoiled,
  type ShardJob,
  type Unfitting,
} from './shard-job.ts';
import { bodyOf, chunksOf, readBytesOf, readOrder, SampleReads } from './shard-members.ts';
import { ShardUpload } from './shard-upload.ts';

export class ShardBuilder {
  readonly #deps: PackDeps;
  readonly #job: ShardJob;
  readonly #upload: ShardUpload;
  readonly #gzip: GzipSink | undefined;
  /** Where the format writes: the upload, or what compresses on the way to it. */
  readonly #sink: ShardSink;
  readonly #window: FetchWindow;
  readonly #encoder: ShardEncoder;
  readonly #writer: SampleWriter;
  readonly #sniffs: (member: PlannedMember) => boolean;
  readonly #unfitting: Unfitting[] = [];
  /** The window reads ahead of what is packed. */
  readonly #samplesToPack: Lookahead<LaidSample>;
  /** How many samples there will be, where that is fixed before the first is packed. */
  readonly #fixedCount: number | undefined;
  /** Members of a sample that are read, in order; not those whose prepared bytes are held. */
  readonly #toRead: (laid: LaidSample) => readonly PlannedMember[];
  /** The one member of a sample that the store copies itself. */
  readonly #copied: (laid: LaidSample) => CopiedMember | undefined;

  constructor(
    deps: PackDeps,
    job: ShardJob,
    state: { upload: ShardUpload; excluded: Map<string, Unfitting> },
  ) {
    this.#deps = deps;
    this.#job = job;
    this.#upload = state.upload;
    this.#gzip = job.format.isGzipped?.(job.packing) === true ? new GzipSink(state.upload) : undefined;
    this.#sink = this.#gzip ?? state.upload;
    const sniff = takesImages(job.packing.accept);
    const prepared = new Set<PlannedMember>();
    this.#sniffs = (member) => sniff && !prepared.has(member);
    this.#copied = (laid) => (sniff ? undefined : copiedMember(laid, job, deps.window.pieceBytes));
    this.#unfitting.push(...state.excluded.values());
    const { excluded } = state;
    const without = (sample: PlannedSample): boolean =>
      excluded.size > 0 && (excluded.has(placeOf(sample)) || excluded.has(placeOf({ ...sample, repeat: 0 })));
    const leaveOut = (one: Unfitting): void => void this.#unfitting.push(one);
    const fixed = layOutFirst(job, without, leaveOut);
    this.#fixedCount = fixed?.length;
    this.#samplesToPack = new Lookahead(fixed ?? layOutAll(samplesBut(job.samples, without), job, leaveOut));
    this.#encoder = job.format.encoder({ settings: job.packing, facts: job.facts, outlines: fixed ?? [] });
    this.#writer = new SampleWriter(this.#encoder, this.#sink, job);
    for (const laid of fixed ?? []) for (const member of preparedOf(laid)) prepared.add(member);
    const isHeld = (member: PlannedMember): boolean => job.preparations?.heldBytesOf(member) !== undefined;
    const held = new Set([...prepared].filter(isHeld));
    this.#toRead =
      held.size === 0 ? readOrder : (laid) => readOrder(laid).filter((member) => !held.has(member));
    this.#window = new FetchWindow(deps.store, this.#membersInOrder(), deps.window, deps.slots);
  }

  *#membersInOrder(): Generator<PlannedMember> {
    for (const laid of this.#samplesToPack.ahead())
      if (this.#copied(laid) === undefined) yield* this.#toRead(laid);
  }

  async build(): Promise<BuiltShard> {
    await this.#encoder.start?.(this.#sink);
    for (let laid = this.#samplesToPack.next(); laid !== undefined; laid = this.#samplesToPack.next()) {
      const copied = this.#copied(laid);
      if (copied !== undefined) await this.#packCopied(laid, copied);
      else if (readBytesOf(laid) <= this.#deps.window.pieceBytes) {
        const waiting = this.#packSmall(laid);
        if (waiting !== undefined) await waiting;
      } else await this.#packLarge(laid);
      this.#window.release();
    }
    await this.#encoder.finish?.(this.#sink);
    await this.#gzip?.finish();
    const isFixed = hasFixedLayout(this.#job.format) || this.#job.even !== undefined;
    const { list, samples } = this.#writer;
    if (isFixed && samples < (this.#fixedCount ?? 0)) throw new SamplesSpoiled(this.#unfitting);
    const uploaded = await this.#upload.finish();
    const exclusions = this.#unfitting
      .flatMap(({ sample, exclusion }) => (sample.repeat === 0 ? [exclusion] : []))
      .toSorted((a, b) => a.sample - b.sample);
    return { ...uploaded, list, samples, exclusions };
  }

  async close(): Promise<void> {
    await this.#window.close();
  }

  /** A promise only where something has to wait: one a sample would cost more than all the bookkeeping. */
  #packSmall(laid: LaidSample): Promise<void> | undefined {
    const members = this.#toRead(laid);
    const reads = new SampleReads(laid.sample);
    for (const [index, member] of members.entries()) {
      const read = this.#window.next();
      if (read instanceof Promise) return this.#packLater(laid, { reads, left: members.slice(index) }, read);
      reads.set(member, read);
    }
    return this.#packRead(laid, reads);
  }

  async #packLater(
    laid: LaidSample,
    { reads, left: [first, ...others] }: { reads: SampleReads; left: readonly PlannedMember[] },
    read: Promise<GetResult>,
  ): Promise<void> {
    if (first !== undefined) reads.set(first, await read);
    for (const member of others) reads.set(member, await this.#window.next());
    await this.#packRead(laid, reads);
  }

  /** A small sample, all of it read. */
  #packRead(laid: LaidSample, reads: SampleReads): Promise<void> | undefined {
    const exclusion = judgeSample(laid.sample, reads.inOrder, this.#sniffs);
    if (exclusion !== undefined) {
      this.#unfitting.push({ sample: laid.sample, exclusion });
      return undefined;
    }
    if (this.#job.preparations !== undefined) return this.#packPrepared(laid, reads);
    return this.#write(laid, reads, NO_IMAGES);
  }

  async #packPrepared(laid: LaidSample, reads: SampleReads): Promise<void> {
    const images = await this.#prepare(laid, (member) => chunksOf(reads.of(member)));
    if (images !== undefined) await this.#write(laid, reads, images);
  }

  /** What turns out not to fit the format is left out. */
  #write(
    laid: LaidSample,
    reads: SampleReads,
    images: ReadonlyMap<PlannedMember, Ready>,
  ): Promise<void> | undefined {
    if (laid.sample.repeat > 0 && this.#isExcluded(laid.ordinal)) return undefined;
    const before = this.#sink.position;
    const unfit = (error: unknown): void => {
      if (!(error instanceof Unfit)) throw error;
      this.#drop(laid, excludeAll(laid.sample, error.reason), before);
    };
    try {
      return this.#writer.write(laid, images, (part) => bodyOf(part, reads))?.catch(unfit);
    } catch (error: unknown) {
      unfit(error);
      return undefined;
    }
  }

  /** Undefined when one of the images cannot be prepared and the sample is out. */
  async #prepare(
    laid: LaidSample,
    chunksOf: (member: PlannedMember) => readonly Uint8Array[],
  ): Promise<ReadonlyMap<PlannedMember, Ready> | undefined> {
    const prepared = await prepareImages(laid, chunksOf, this.#job);
    if ('images' in prepared) return prepared.images;
    this.#unfitting.push({ sample: laid.sample, exclusion: prepared.exclusion });
    return undefined;
  }

  #isExcluded(ordinal: number): boolean {
    return this.#unfitting.some(({ sample }) => sample.ordinal === ordinal && sample.repeat === 0);
  }

  /** What was not yet written can simply be left out. */
  #drop(laid: LaidSample, exclusion: Exclusion, before: number): void {
    const unfitting = { sample: laid.sample, exclusion };
    if (this.#sink.position !== before) throw new SamplesSpoiled([unfitting]);
    this.#unfitting.push(unfitting);
  }

  async #packCopied(laid: LaidSample, copied: CopiedMember): Promise<void> {
    const before = this.#sink.position;
    const how = { store: this.#deps.store, upload: this.#upload, copied };
    const outcome = await copySample({ ...how, pieceBytes: this.#deps.window.pieceBytes }, laid);
    if (outcome.kind === 'out') return this.#drop(laid, outcome.exclusion, before);
    this.#writer.enlistCopied(outcome.line);
  }

  /** Members of any size, piece by piece; what turns out unfit on the way spoils the shard built so far. */
  async #packLarge(laid: LaidSample): Promise<void> {
    const images = await this.#readImages(laid);
    if (images === undefined) return;
    try {
      await this.#writer.write(laid, images, (part) =>
        part.kind === 'made' ? [part.bytes] : this.#stream(laid, part.member),
      );
    } catch (error: unknown) {
      if (!(error instanceof Unfit)) throw error;
      throw new SamplesSpoiled([{ sample: laid.sample, exclusion: excludeAll(laid.sample, error.reason) }]);
    }
  }

  /** The images of a large sample, which come first. Undefined when the sample is out; then all of it has been read. */
  async #readImages(laid: LaidSample): Promise<ReadonlyMap<PlannedMember, Ready> | undefined> {
    const images = new Set(preparedOf(laid));
    const toRead = this.#toRead(laid);
    const read = new Map<PlannedMember, Uint8Array[]>();
    let exclusion: Exclusion | undefined;
    for (const member of toRead.filter((one) => images.has(one))) {
      const chunks: Uint8Array[] = [];
      for (const _ of piecesOf(member, this.#deps.window.pieceBytes)) {
        const piece = await this.#window.next();
        const reads = laid.sample.members.map((one) => (one === member ? piece : undefined));
        exclusion ??= judgeSample(laid.sample, reads, this.#sniffs);
        if (exclusion === undefined) chunks.push(...chunksOf(piece));
      }
      read.set(member, chunks);
    }
    if (exclusion !== undefined) this.#unfitting.push({ sample: laid.sample, exclusion });
    const ready =
      exclusion === undefined ? await this.#prepare(laid, (member) => read.get(member) ?? []) : undefined;
    if (ready !== undefined) return ready;
    for (const member of toRead)
      if (!images.has(member))
        for (const _ of piecesOf(member, this.#deps.window.pieceBytes)) await this.#window.next();
    return undefined;
  }

  async *#stream(laid: LaidSample, member: PlannedMember): AsyncGenerator<Uint8Array> {
    for (const { offset } of piecesOf(member, this.#deps.window.pieceBytes)) {
      const read = await this.#window.next();
      const reads = laid.sample.members.map((one) => (one === member ? read : undefined));
      const verdict = judgeSample(laid.sample, reads, (one) => offset === 0 && this.#sniffs(one));
      if (verdict !== undefined) throw new SamplesSpoiled([{ sample: laid.sample, exclusion: verdict }]);
      if (read.kind === 'found') yield* read.chunks;
    }
  }
}
