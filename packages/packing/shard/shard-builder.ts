/**
 * Builds one shard: it reads the sources, uploads the parts and lists the members. Nothing of the shard is visible
 * until its record is committed (commit-shard.ts).
 */
import { kindsIn, type SourceRead, type SumKind } from '../documents/blob-store.ts';
import type { PlannedMember, PlannedSample } from '../documents/documents.ts';
import type { Exclusion } from '../documents/rejections.ts';
import { layOutSample, type MemberLayout, type SampleLayout } from '../documents/sample-layout.ts';
import {
  hasFixedLayout,
  type ShardEncoder,
  type ShardSink,
  UnfitSampleError,
} from '../documents/shard-format.ts';
import { Lookahead } from '../plan/item-lists.ts';
import {
  acceptsImages,
  checkSample,
  copyIdOf,
  type ExcludedSample,
  excludeAll,
  RebuildError,
} from './check-sample.ts';
import { type CopiedMember, copiedMember, copySample } from './copy-source.ts';
import { FetchWindow } from './fetch-window.ts';
import { GzipSink } from './gzip-sink.ts';
import { largeMembers } from './large-member.ts';
import { damaged, MemberReads } from './member-reads.ts';
import { readPieces } from './read-spans.ts';
import { bytesOfPart, chunksOf, readBytesOf, readOrder, SampleReads, SourceSums } from './sample-reads.ts';
import { type PartBody, SampleWriter } from './sample-writer.ts';
import { measureImages, NO_IMAGES, type PreparedBytes, preparedOf, prepareImages } from './shard-images.ts';
import {
  type BuiltShard,
  layOutFirst,
  layOutSamples,
  type PackDeps,
  type ShardJob,
  samplesWithout,
} from './shard-job.ts';
import { LARGE_MEMBER_BYTES, ShardUpload } from './shard-upload.ts';

/** Builds the shard again without the samples that turned out unfit after they were written, until none does. */
export async function buildShard(deps: PackDeps, job: ShardJob): Promise<BuiltShard> {
  const excluded = new Map<string, ExcludedSample>();
  const { preparations, format, incoming, packing: settings } = job;
  if (preparations !== undefined && hasFixedLayout(format)) {
    const layout = Array.from(job.samples, (sample) => layOutSample(sample, { incoming, format, settings }));
    await measureImages(deps, layout, preparations);
  }
  const sources = new SourceSums(deps.store);
  const sum = await sumKindFor(deps, job, sources);
  for (;;) {
    const upload = new ShardUpload(deps.store, await deps.store.createUpload(job.key, sum), deps.buffers);
    const builder = new ShardBuilder(deps, job, { upload, excluded, sources });
    try {
      return await builder.build();
    } catch (error: unknown) {
      await builder.close();
      await upload.abandon();
      if (!(error instanceof RebuildError)) throw error;
      for (const one of error.excluded) excluded.set(copyIdOf(one.sample), one);
    }
  }
}

/** Only a format that lets the store copy sources has other shards than those with CRC-32. */
function sumKindFor(
  { window, buffers }: PackDeps,
  job: ShardJob,
  sources: SourceSums,
): Promise<SumKind> | SumKind {
  const { largeMemberBytes = LARGE_MEMBER_BYTES } = buffers.limits;
  if (job.format.takes === 'files') {
    const from = window.pieceBytes;
    const copiedOf = (layout: SampleLayout): readonly PlannedMember[] => {
      const copied = copiedMember(layout, job, from);
      return copied === undefined ? [] : [copied.member];
    };
    return job.format.copyFrom === undefined ? 'crc32' : sumKindOf(sources, job, from, copiedOf);
  }
  if (job.format.takes === 'nothing' || job.format.copiesMembers !== true) return 'crc32';
  return sumKindOf(sources, job, largeMemberBytes, (layout) => largeMembers(layout, job, largeMemberBytes));
}

interface Build {
  readonly upload: ShardUpload;
  readonly excluded: ReadonlyMap<string, ExcludedSample>;
  readonly sources: SourceSums;
}

class ShardBuilder {
  readonly #deps: PackDeps;
  readonly #job: ShardJob;
  readonly #upload: ShardUpload;
  readonly #gzip: GzipSink | undefined;
  /** The format writes to the upload, or to what compresses on the way to it. */
  readonly #sink: ShardSink;
  readonly #window: FetchWindow;
  readonly #encoder: ShardEncoder;
  readonly #writer: SampleWriter;
  readonly #sniffs: (member: PlannedMember) => boolean;
  readonly #excluded: ExcludedSample[] = [];
  /** The window reads ahead of the packing. */
  readonly #samplesToPack: Lookahead<SampleLayout>;
  /** How many samples there will be, if that is fixed before the first is packed. */
  readonly #fixedCount: number | undefined;
  readonly #reads: MemberReads;
  /** Members of a sample that the store copies into a tar. */
  readonly #large: (layout: SampleLayout) => readonly PlannedMember[];
  /** Members of a sample that are read, in order. Members whose prepared bytes are held are not read. */
  readonly #toRead: (layout: SampleLayout) => readonly PlannedMember[];
  /** The one member of a sample that the store copies itself. */
  readonly #copied: (layout: SampleLayout) => CopiedMember | undefined;

  constructor(deps: PackDeps, job: ShardJob, { upload, excluded, sources }: Build) {
    this.#deps = deps;
    this.#job = job;
    this.#upload = upload;
    this.#gzip = job.format.isGzipped?.(job.packing) === true ? new GzipSink(upload) : undefined;
    this.#sink = this.#gzip ?? upload;
    const sniff = acceptsImages(job.packing.accept);
    const prepared = new Set<PlannedMember>();
    this.#sniffs = (member) => sniff && !prepared.has(member);
    this.#copied = (layout) => (sniff ? undefined : copiedMember(layout, job, deps.window.pieceBytes));
    this.#excluded.push(...excluded.values());
    const without = (sample: PlannedSample): boolean =>
      excluded.size > 0 &&
      (excluded.has(copyIdOf(sample)) || excluded.has(copyIdOf({ ...sample, repeat: 0 })));
    const exclude = (one: ExcludedSample): void => void this.#excluded.push(one);
    const fixed = layOutFirst(job, without, exclude);
    this.#fixedCount = fixed?.length;
    this.#samplesToPack = new Lookahead(
      fixed ?? layOutSamples(samplesWithout(job.samples, without), job, exclude),
    );
    this.#encoder = job.format.encoder({
      settings: job.packing,
      sourceSchema: job.sourceSchema,
      outlines: fixed ?? [],
    });
    this.#writer = new SampleWriter(this.#encoder, this.#sink, job);
    for (const layout of fixed ?? []) for (const member of preparedOf(layout)) prepared.add(member);
    const isHeld = (member: PlannedMember): boolean => job.preparations?.heldBytesOf(member) !== undefined;
    const held = new Set([...prepared].filter(isHeld));
    const { largeMemberBytes = LARGE_MEMBER_BYTES } = deps.buffers.limits;
    this.#large = (layout) => largeMembers(layout, job, largeMemberBytes);
    this.#toRead = (layout) => {
      const large = this.#large(layout);
      if (held.size === 0 && large.length === 0) return readOrder(layout);
      return readOrder(layout).filter((member) => !held.has(member) && !large.includes(member));
    };
    this.#window = new FetchWindow(deps.store, this.#membersInOrder(), deps.window, deps.readBuffers);
    const { unchecked } = this.#writer;
    this.#reads = new MemberReads(deps, { window: this.#window, unchecked, sniffs: this.#sniffs, sources });
  }

  *#membersInOrder(): Generator<PlannedMember> {
    for (const layout of this.#samplesToPack.ahead())
      if (this.#copied(layout) === undefined) yield* this.#toRead(layout);
  }

  /** @throws RebuildError */
  async build(): Promise<BuiltShard> {
    await this.#encoder.start?.(this.#sink);
    for (let layout = this.#samplesToPack.next(); layout !== undefined; layout = this.#samplesToPack.next()) {
      const copied = this.#copied(layout);
      if (copied !== undefined) await this.#packCopied(layout, copied);
      else if (readBytesOf(layout) <= this.#deps.window.pieceBytes) {
        const waiting = this.#packSmall(layout);
        if (waiting !== undefined) await waiting;
      } else await this.#packLarge(layout);
      this.#window.release();
    }
    await this.#encoder.finish?.(this.#sink);
    await this.#gzip?.finish();
    this.#checkWritten();
    const { list, samples } = this.#writer;
    const uploaded = await this.#upload.finish();
    const exclusions = this.#excluded
      .flatMap(({ sample, exclusion }) => (sample.repeat === 0 ? [exclusion] : []))
      .toSorted((a, b) => a.sample - b.sample);
    return { ...uploaded, list, samples, exclusions };
  }

  /** @throws RebuildError if the shard holds samples that it must not hold, or too few */
  #checkWritten(): void {
    const isFixed = hasFixedLayout(this.#job.format) || this.#job.even !== undefined;
    const { samples, unchanged } = this.#writer;
    for (const sample of unchanged)
      this.#excluded.push({ sample, exclusion: excludeAll(sample, 'unchanged') });
    if (unchanged.length > 0 || (isFixed && samples < (this.#fixedCount ?? 0)))
      throw new RebuildError(this.#excluded);
  }

  async close(): Promise<void> {
    await this.#window.close();
  }

  /**
   * Returns a promise only if something has to wait: a promise for each sample would cost more than all bookkeeping.
   */
  #packSmall(layout: SampleLayout): Promise<void> | undefined {
    const members = this.#toRead(layout);
    const reads = new SampleReads(layout.sample);
    for (const [index, member] of members.entries()) {
      const read = this.#window.next();
      if (read instanceof Promise)
        return this.#packLater(layout, { reads, left: members.slice(index) }, read);
      reads.set(member, read);
    }
    return this.#packRead(layout, reads);
  }

  async #packLater(
    layout: SampleLayout,
    { reads, left: [first, ...others] }: { reads: SampleReads; left: readonly PlannedMember[] },
    read: Promise<SourceRead>,
  ): Promise<void> {
    if (first !== undefined) reads.set(first, await read);
    for (const member of others) reads.set(member, await this.#window.next());
    await this.#packRead(layout, reads);
  }

  /** Packs a small sample, all of which was read. */
  #packRead(layout: SampleLayout, reads: SampleReads): Promise<void> | undefined {
    const exclusion = checkSample(layout.sample, reads.inOrder, this.#sniffs);
    if (exclusion !== undefined) {
      this.#excluded.push({ sample: layout.sample, exclusion });
      return undefined;
    }
    for (const member of layout.sample.members) this.#reads.noteCheck(member, reads.of(member));
    if (this.#job.preparations !== undefined) return this.#packPrepared(layout, reads);
    return this.#write(layout, reads, NO_IMAGES);
  }

  async #packPrepared(layout: SampleLayout, reads: SampleReads): Promise<void> {
    const images = await this.#prepare(layout, (member) => chunksOf(reads.of(member)));
    if (images !== undefined) await this.#write(layout, reads, images);
  }

  /** Excludes the sample if it does not fit the format. */
  #write(
    layout: SampleLayout,
    reads: SampleReads,
    images: ReadonlyMap<PlannedMember, PreparedBytes>,
  ): Promise<void> | undefined {
    if (layout.sample.repeat > 0 && this.#isExcluded(layout.ordinal)) return undefined;
    const before = this.#sink.position;
    const unfit = (error: unknown): void => {
      if (!(error instanceof UnfitSampleError)) throw error;
      this.#exclude(layout, excludeAll(layout.sample, error.reason), before);
    };
    try {
      return this.#writer.write(layout, images, (part) => bytesOfPart(part, reads))?.catch(unfit);
    } catch (error: unknown) {
      unfit(error);
      return undefined;
    }
  }

  /** Undefined if one of the images cannot be prepared; then the sample is excluded. */
  async #prepare(
    layout: SampleLayout,
    chunksOf: (member: PlannedMember) => readonly Uint8Array[],
  ): Promise<ReadonlyMap<PlannedMember, PreparedBytes> | undefined> {
    const prepared = await prepareImages(layout, chunksOf, this.#job);
    if ('images' in prepared) return prepared.images;
    this.#excluded.push({ sample: layout.sample, exclusion: prepared.exclusion });
    return undefined;
  }

  #isExcluded(ordinal: number): boolean {
    return this.#excluded.some(({ sample }) => sample.ordinal === ordinal && sample.repeat === 0);
  }

  /** A sample of which nothing was written is only noted. @throws RebuildError for any other */
  #exclude(layout: SampleLayout, exclusion: Exclusion, before: number): void {
    const excluded = { sample: layout.sample, exclusion };
    if (this.#sink.position !== before) throw new RebuildError([excluded]);
    this.#excluded.push(excluded);
  }

  async #packCopied(layout: SampleLayout, copied: CopiedMember): Promise<void> {
    const before = this.#sink.position;
    const { store, window } = this.#deps;
    const { pieceBytes } = window;
    const job = { store, upload: this.#upload, ...copied, pieceBytes, damaged: () => damaged(copied.member) };
    const outcome = await copySample(job, layout);
    if (outcome.kind === 'excluded') return this.#exclude(layout, outcome.exclusion, before);
    this.#writer.enlistCopied(outcome.line);
  }

  /**
   * Packs members of any size, piece by piece. A sample that turns out unfit halfway makes the shard be built again.
   */
  async #packLarge(layout: SampleLayout): Promise<void> {
    const images = await this.#readImages(layout);
    if (images === undefined) return;
    try {
      await this.#writer.write(layout, images, (part) => this.#largeBody(layout, part));
    } catch (error: unknown) {
      if (!(error instanceof UnfitSampleError)) throw error;
      throw new RebuildError([{ sample: layout.sample, exclusion: excludeAll(layout.sample, error.reason) }]);
    }
  }

  #largeBody(layout: SampleLayout, part: MemberLayout): ReturnType<PartBody> {
    if (part.kind === 'made') return [part.bytes];
    const [{ sample }, { member }] = [layout, part];
    return this.#large(layout).includes(member)
      ? this.#reads.large(sample, part, this.#upload)
      : this.#reads.stream(sample, member);
  }

  /**
   * Reads the images of a large sample, which come first. Undefined if the sample is excluded; then all of it was
   * read.
   */
  async #readImages(layout: SampleLayout): Promise<ReadonlyMap<PlannedMember, PreparedBytes> | undefined> {
    const images = new Set(preparedOf(layout));
    const toRead = this.#toRead(layout);
    const read = new Map<PlannedMember, Uint8Array[]>();
    let exclusion: Exclusion | undefined;
    for (const member of toRead.filter((one) => images.has(one))) {
      const image = await this.#reads.image(layout.sample, member);
      exclusion ??= image.exclusion;
      read.set(member, image.chunks);
    }
    if (exclusion !== undefined) this.#excluded.push({ sample: layout.sample, exclusion });
    const prepared =
      exclusion === undefined ? await this.#prepare(layout, (member) => read.get(member) ?? []) : undefined;
    if (prepared !== undefined) return prepared;
    for (const member of toRead)
      if (!images.has(member))
        for (const _ of readPieces(member, this.#deps.window.pieceBytes)) await this.#window.next();
    return undefined;
  }
}

// The kind of checksum that an upload gets. It has one kind, and S3 tells the checksum of a copied part in that kind.

/**
 * That of the first large source that has one, so that the store copies it and the copy is compared with it. Sources of
 * one client have the same kind. CRC-32 otherwise, because Node computes it natively and CRC-64/NVME takes six times as
 * long.
 * @param from bytes of the smallest source that is copied
 */
async function sumKindOf(
  sources: SourceSums,
  { samples, incoming, format, packing: settings }: ShardJob,
  from: number,
  copiedOf: (layout: SampleLayout) => readonly PlannedMember[],
): Promise<SumKind> {
  for (const sample of samples) {
    if (!sample.members.some(({ size }) => size >= from)) continue;
    for (const member of copiedOf(layOutSample(sample, { incoming, format, settings }))) {
      const [kind] = kindsIn(await sources.of(member));
      if (kind !== undefined) return kind;
    }
  }
  return 'crc32';
}
