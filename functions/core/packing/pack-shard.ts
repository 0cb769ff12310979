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
  readonly shard: number;
  readonly incoming: string;
  readonly packing: PackingSettings;
  readonly format: ShardFormat;
  readonly facts: PlanFacts;
  readonly samples: readonly PlannedSample[];
  /** So many samples, or none: what drops out is made good by copies of the others. */
  readonly even?: number | undefined;
}

export interface BuiltShard extends UploadedShard {
  readonly lines: readonly MemberLine[];
  readonly samples: number;
  readonly exclusions: readonly Exclusion[];
}

/** A sample, or a copy of one, turned out to be unfit. */
interface Unfitting {
  readonly sample: PlannedSample;
  readonly exclusion: Exclusion;
}

/** That happened after something was written that they are part of: the shard is built again without them. */
class SamplesSpoiled extends Error {
  override readonly name = 'SamplesSpoiled';
  readonly unfitting: readonly Unfitting[];
  constructor(unfitting: readonly Unfitting[]) {
    super(`${unfitting.length} samples cannot be in the shard`);
    this.unfitting = unfitting;
  }
}

/** Names a sample or a copy of one. */
const placeOf = ({ ordinal, repeat }: PlannedSample): string => `${ordinal}~${repeat}`;

export async function buildShard(deps: PackDeps, job: ShardJob): Promise<BuiltShard> {
  const excluded = new Map<string, Unfitting>();
  for (;;) {
    const upload = new ShardUpload(deps.store, await deps.store.createUpload(job.key), deps.buffers);
    const builder = new ShardBuilder(deps, job, { upload, excluded });
    try {
      return await builder.build();
    } catch (error: unknown) {
      await builder.close();
      await upload.abandon();
      if (!(error instanceof SamplesSpoiled)) throw error;
      for (const one of error.unfitting) excluded.set(placeOf(one.sample), one);
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
  readonly #unfitting: Unfitting[] = [];
  readonly #taken: readonly LaidSample[];
  #samples = 0;

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
    this.#sniff = takesImages(job.packing.accept);
    this.#unfitting.push(...state.excluded.values());
    const without = (sample: PlannedSample): boolean =>
      state.excluded.has(placeOf(sample)) || state.excluded.has(placeOf({ ...sample, repeat: 0 }));
    const taken = this.#layOut(job.samples.filter((sample) => !without(sample)));
    this.#taken = [...taken, ...this.#layOut(paddingOf(taken, job))];
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
      else this.#unfitting.push({ sample, exclusion: excludeAll(sample, refusal) });
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
    const isFixed = this.#job.format.fixedLayout || this.#job.even !== undefined;
    if (isFixed && this.#samples < this.#taken.length) throw new SamplesSpoiled(this.#unfitting);
    const uploaded = await this.#upload.finish();
    const exclusions = this.#unfitting
      .filter(({ sample }) => sample.repeat === 0)
      .map(({ exclusion }) => exclusion)
      .toSorted((a, b) => a.sample - b.sample);
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
    if (exclusion !== undefined) {
      this.#unfitting.push({ sample: laid.sample, exclusion });
      return;
    }
    if (laid.sample.repeat > 0 && this.#isExcluded(laid.ordinal)) return;
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
    return this.#unfitting.some(({ sample }) => sample.ordinal === ordinal && sample.repeat === 0);
  }

  /** What was not yet written can simply be left out. */
  #drop(laid: LaidSample, reason: Rejection, before: number): void {
    const unfitting = { sample: laid.sample, exclusion: excludeAll(laid.sample, reason) };
    if (this.#sink.position !== before) throw new SamplesSpoiled([unfitting]);
    this.#unfitting.push(unfitting);
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
      throw new SamplesSpoiled([{ sample: laid.sample, exclusion: excludeAll(laid.sample, error.reason) }]);
    }
  }

  async *#stream(laid: LaidSample, member: PlannedMember): AsyncGenerator<Uint8Array> {
    for (const { offset } of piecesOf(member, this.#deps.window.pieceBytes)) {
      const read = await this.#window.next();
      const reads = laid.sample.members.map((one) => (one === member ? read : undefined));
      const verdict = judgeSample(laid.sample, reads, this.#sniff && offset === 0);
      if (verdict !== undefined) throw new SamplesSpoiled([{ sample: laid.sample, exclusion: verdict }]);
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

/** Numbers of copies that packing makes: far from those of the plan, and no two shards share one. */
const COPIES_OF_SHARD = 1_000_000;

/** Copies of what is taken, in turn, up to the count that the shard must have. */
function paddingOf(taken: readonly LaidSample[], { shard, even }: ShardJob): PlannedSample[] {
  const missing = taken.length === 0 ? 0 : Math.max(0, (even ?? 0) - taken.length);
  return Array.from({ length: missing }, (_, index) => {
    const { sample } = taken[index % taken.length] ?? taken[0] ?? neverEmpty();
    return { ...sample, repeat: (shard + 1) * COPIES_OF_SHARD + index };
  });
}

function neverEmpty(): never {
  throw new Error('there is nothing to copy');
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
    ...(laid.sample.repeat > 0 ? { repeat: laid.sample.repeat } : {}),
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
