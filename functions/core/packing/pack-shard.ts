/** Builds one shard: sources in, parts out, and a line for every member. Nothing of it is visible until it is decided. */
import type { PackingSettings } from '../pipeline.ts';
import { FetchWindow, piecesOf, type WindowLimits } from './fetch-window.ts';
import {
  type EncodedMember,
  type Placed,
  type PlanFacts,
  type ShardEncoder,
  type ShardFormat,
  type ShardSink,
  Unfit,
} from './formats/format.ts';
import { GzipSink } from './gzip-sink.ts';
import { excludeAll, judgeSample, takesImages } from './judge-sample.ts';
import type { BlobStore, GetResult } from './port.ts';
import type { Exclusion, MemberLine, PlannedMember, PlannedSample, Rejection } from './records.ts';
import { type LaidOut, type LaidSample, layOut } from './sample-layout.ts';
import { type PartBuffers, ShardUpload, type UploadedShard } from './shard-upload.ts';

export interface PackDeps {
  readonly store: BlobStore;
  readonly buffers: PartBuffers;
  readonly window: WindowLimits;
}

export interface ShardJob {
  /** Key of the shard to be. */
  readonly key: string;
  readonly incoming: string;
  readonly packing: PackingSettings;
  readonly format: ShardFormat;
  readonly facts: PlanFacts;
  readonly samples: readonly PlannedSample[];
}

export interface BuiltShard extends UploadedShard {
  readonly lines: readonly MemberLine[];
  readonly samples: number;
  readonly exclusions: readonly Exclusion[];
}

/** Samples turned out to be unfit after something was written that they are part of: the shard is built again without them. */
class SamplesSpoiled extends Error {
  override readonly name = 'SamplesSpoiled';
  readonly exclusions: readonly Exclusion[];
  constructor(exclusions: readonly Exclusion[]) {
    super(`${exclusions.length} samples cannot be in the shard`);
    this.exclusions = exclusions;
  }
}

export async function buildShard(deps: PackDeps, job: ShardJob): Promise<BuiltShard> {
  const excluded = new Map<number, Exclusion>();
  for (;;) {
    const upload = new ShardUpload(deps.store, await deps.store.createUpload(job.key), deps.buffers);
    const builder = new ShardBuilder(deps, job, { upload, excluded });
    try {
      return await builder.build();
    } catch (error: unknown) {
      await builder.close();
      await upload.abandon();
      if (!(error instanceof SamplesSpoiled)) throw error;
      for (const one of error.exclusions) excluded.set(one.sample, one);
    }
  }
}

class ShardBuilder {
  readonly #deps: PackDeps;
  readonly #job: ShardJob;
  readonly #upload: ShardUpload;
  readonly #gzip: GzipSink | undefined;
  /** Where the format writes: the upload, or what compresses on the way to it. */
  readonly #sink: ShardSink;
  readonly #window: FetchWindow;
  readonly #encoder: ShardEncoder;
  readonly #sniff: boolean;
  readonly #lines: MemberLine[] = [];
  readonly #exclusions: Exclusion[] = [];
  readonly #taken: readonly LaidSample[];
  #samples = 0;

  constructor(
    deps: PackDeps,
    job: ShardJob,
    state: { upload: ShardUpload; excluded: Map<number, Exclusion> },
  ) {
    this.#deps = deps;
    this.#job = job;
    this.#upload = state.upload;
    this.#gzip = job.format.isGzipped?.(job.packing) === true ? new GzipSink(state.upload) : undefined;
    this.#sink = this.#gzip ?? state.upload;
    this.#sniff = takesImages(job.packing.accept);
    this.#exclusions.push(...state.excluded.values());
    this.#taken = this.#layOut(job.samples.filter(({ ordinal }) => !state.excluded.has(ordinal)));
    this.#encoder = job.format.encoder({ settings: job.packing, facts: job.facts, outlines: this.#taken });
    this.#window = new FetchWindow(deps.store, membersInOrder(this.#taken), deps.window);
  }

  /** Leaves out at once what the format cannot hold. */
  #layOut(samples: readonly PlannedSample[]): LaidSample[] {
    const { incoming, format, packing: settings, facts } = this.#job;
    const taken: LaidSample[] = [];
    for (const sample of samples) {
      const laid = layOut(sample, { incoming, format, settings });
      const bytes = laid.members.reduce((sum, { size }) => sum + size, 0);
      const refusal = bytes > format.largestSample ? 'tooLarge' : format.refuses(laid, { settings, facts });
      if (refusal === undefined) taken.push(laid);
      else this.#exclusions.push(excludeAll(sample, refusal));
    }
    return taken;
  }

  async build(): Promise<BuiltShard> {
    await this.#encoder.start(this.#sink);
    for (const laid of this.#taken) {
      const bytes = laid.members.reduce((sum, { size }) => sum + size, 0);
      if (bytes <= this.#deps.window.pieceBytes) await this.#packSmall(laid);
      else await this.#packLarge(laid);
    }
    await this.#encoder.finish(this.#sink);
    await this.#gzip?.finish();
    const spoilt = this.#job.format.fixedLayout && this.#samples < this.#taken.length;
    if (spoilt) throw new SamplesSpoiled(this.#exclusions);
    const uploaded = await this.#upload.finish();
    const exclusions = this.#exclusions.toSorted((a, b) => a.sample - b.sample);
    return { ...uploaded, lines: this.#lines, samples: this.#samples, exclusions };
  }

  async close(): Promise<void> {
    await this.#window.close();
  }

  async #packSmall(laid: LaidSample): Promise<void> {
    const reads = new Map<PlannedMember, GetResult>();
    for (const part of laid.members)
      if (part.kind === 'source') reads.set(part.member, await this.#window.next());
    const inOrder = laid.sample.members.map((member) => reads.get(member));
    const exclusion = judgeSample(laid.sample, inOrder, this.#sniff);
    if (laid.sample.repeat && (exclusion !== undefined || this.#isExcluded(laid.ordinal))) return;
    if (exclusion !== undefined) {
      this.#exclusions.push(exclusion);
      return;
    }
    const members = laid.members.map((part): EncodedMember => ({ ...part, body: bodyOf(part, reads) }));
    const before = this.#sink.position;
    try {
      this.#note(laid, await this.#encoder.add(this.#sink, laid, members));
    } catch (error: unknown) {
      if (!(error instanceof Unfit)) throw error;
      this.#drop(laid, error.reason, before);
    }
  }

  #isExcluded(ordinal: number): boolean {
    return this.#exclusions.some(({ sample }) => sample === ordinal);
  }

  /** What was not yet written can simply be left out. */
  #drop(laid: LaidSample, reason: Rejection, before: number): void {
    const exclusion = excludeAll(laid.sample, reason);
    if (this.#sink.position !== before) throw new SamplesSpoiled([exclusion]);
    this.#exclusions.push(exclusion);
  }

  /** Members of any size, piece by piece; what turns out unfit on the way spoils the shard built so far. */
  async #packLarge(laid: LaidSample): Promise<void> {
    const members = laid.members.map(
      (part): EncodedMember => ({
        ...part,
        body: part.kind === 'made' ? [part.bytes] : this.#stream(laid, part.member),
      }),
    );
    try {
      this.#note(laid, await this.#encoder.add(this.#sink, laid, members));
    } catch (error: unknown) {
      if (!(error instanceof Unfit)) throw error;
      throw new SamplesSpoiled([excludeAll(laid.sample, error.reason)]);
    }
  }

  async *#stream(laid: LaidSample, member: PlannedMember): AsyncGenerator<Uint8Array> {
    for (const { offset } of piecesOf(member, this.#deps.window.pieceBytes)) {
      const read = await this.#window.next();
      const reads = laid.sample.members.map((one) => (one === member ? read : undefined));
      const verdict = judgeSample(laid.sample, reads, this.#sniff && offset === 0);
      if (verdict !== undefined) throw new SamplesSpoiled([verdict]);
      if (read.kind === 'found') yield* read.chunks;
    }
  }

  #note(laid: LaidSample, placed: readonly Placed[]): void {
    for (const [index, part] of laid.members.entries()) {
      const at = placed[index];
      if (at !== undefined) this.#lines.push(lineOf(laid, part, at));
    }
    this.#samples += 1;
  }
}

function lineOf(laid: LaidSample, part: LaidOut, at: Placed): MemberLine {
  const source =
    part.kind === 'made' ? { made: part.made } : { key: part.member.key, etag: part.member.etag };
  const { name, column } = part;
  return {
    ...source,
    name,
    column,
    size: at.size ?? part.size,
    offset: at.offset,
    sha256: at.sha256,
    sample: laid.ordinal,
    ...(laid.sample.repeat ? { repeat: true } : {}),
  };
}

function bodyOf(part: LaidOut, reads: ReadonlyMap<PlannedMember, GetResult>): readonly Uint8Array[] {
  if (part.kind === 'made') return [part.bytes];
  const read = reads.get(part.member);
  if (read?.kind !== 'found') throw new Error(`${part.name} was to be packed, but it was not read`);
  return read.chunks;
}

function* membersInOrder(taken: readonly LaidSample[]): Generator<PlannedMember> {
  for (const { members } of taken) for (const part of members) if (part.kind === 'source') yield part.member;
}
