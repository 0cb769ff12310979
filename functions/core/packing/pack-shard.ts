/** Builds one shard: sources in, parts out, and a line for every member. Nothing of it is visible until it is decided. */
import { createHash, hash } from 'node:crypto';
import type { PackingSettings } from '../pipeline.ts';
import { FetchWindow, piecesOf, type WindowLimits } from './fetch-window.ts';
import { judgeSample, takesImages } from './judge-sample.ts';
import type { BlobStore, GetResult } from './port.ts';
import type { Exclusion, MemberLine, PlannedMember, PlannedSample } from './records.ts';
import { type LaidOut, layOut } from './sample-layout.ts';
import { type PartBuffers, ShardUpload, type UploadedShard } from './shard-upload.ts';
import { paddingOf, TRAILER, tarHeader } from './tar.ts';

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
  readonly samples: readonly PlannedSample[];
}

export interface BuiltShard extends UploadedShard {
  readonly lines: readonly MemberLine[];
  readonly samples: number;
  readonly exclusions: readonly Exclusion[];
}

/** A sample turned out to be unfit after some of it was written: the shard is built again without it. */
class SampleSpoiled extends Error {
  override readonly name = 'SampleSpoiled';
  readonly exclusion: Exclusion;
  constructor(exclusion: Exclusion) {
    super(`sample ${exclusion.sample} changed while it was read`);
    this.exclusion = exclusion;
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
      if (!(error instanceof SampleSpoiled)) throw error;
      excluded.set(error.exclusion.sample, error.exclusion);
    }
  }
}

const PADDING = new Uint8Array(512);
type Found = Extract<GetResult, { kind: 'found' }>;

class ShardBuilder {
  readonly #deps: PackDeps;
  readonly #upload: ShardUpload;
  readonly #window: FetchWindow;
  readonly #sniff: boolean;
  readonly #lines: MemberLine[] = [];
  readonly #exclusions: Exclusion[] = [];
  readonly #taken: readonly { sample: PlannedSample; laid: readonly LaidOut[] }[];
  #samples = 0;

  constructor(
    deps: PackDeps,
    job: ShardJob,
    state: { upload: ShardUpload; excluded: Map<number, Exclusion> },
  ) {
    this.#deps = deps;
    this.#upload = state.upload;
    this.#sniff = takesImages(job.packing.accept);
    this.#exclusions.push(...state.excluded.values());
    this.#taken = job.samples
      .filter(({ ordinal }) => !state.excluded.has(ordinal))
      .map((sample) => ({ sample, laid: layOut(sample, job.incoming, job.packing.label) }));
    this.#window = new FetchWindow(deps.store, membersInOrder(this.#taken), deps.window);
  }

  async build(): Promise<BuiltShard> {
    for (const { sample, laid } of this.#taken) {
      const bytes = sample.members.reduce((sum, { size }) => sum + size, 0);
      const small = bytes <= this.#deps.window.pieceBytes;
      if (small) await this.#packSmall(sample, laid);
      else await this.#packLarge(sample, laid);
    }
    await this.#upload.write(TRAILER);
    const uploaded = await this.#upload.finish();
    const exclusions = this.#exclusions.toSorted((a, b) => a.sample - b.sample);
    return { ...uploaded, lines: this.#lines, samples: this.#samples, exclusions };
  }

  async close(): Promise<void> {
    await this.#window.close();
  }

  async #packSmall(sample: PlannedSample, laid: readonly LaidOut[]): Promise<void> {
    const reads = new Map<PlannedMember, GetResult>();
    for (const part of laid) if (part.kind === 'source') reads.set(part.member, await this.#window.next());
    const exclusion = judgeSample(
      sample,
      sample.members.map((member) => required(reads.get(member))),
      this.#sniff,
    );
    if (exclusion !== undefined) {
      this.#exclusions.push(exclusion);
      return;
    }
    for (const part of laid) {
      const chunks = part.kind === 'made' ? [part.bytes] : found(reads.get(part.member)).chunks;
      const offset = await this.#header(part);
      for (const chunk of chunks) await this.#upload.write(chunk);
      const written = this.#upload.recent(sizeOf(part));
      this.#line(sample, part, { offset, sha256: digestOf(written === undefined ? chunks : [written]) });
      await this.#pad(part);
    }
    this.#samples += 1;
  }

  /** Members of any size, piece by piece; what turns out unfit on the way spoils the shard built so far. */
  async #packLarge(sample: PlannedSample, laid: readonly LaidOut[]): Promise<void> {
    for (const part of laid) {
      const offset = await this.#header(part);
      const digest = createHash('sha256');
      const pieces = part.kind === 'made' ? [undefined] : piecesOf(part.member, this.#deps.window.pieceBytes);
      for (const piece of pieces) {
        const chunks =
          part.kind === 'made'
            ? [part.bytes]
            : await this.#fitPiece(sample, part.member, piece?.offset === 0);
        for (const chunk of chunks) {
          digest.update(chunk);
          await this.#upload.write(chunk);
        }
      }
      this.#line(sample, part, { offset, sha256: digest.digest('hex') });
      await this.#pad(part);
    }
    this.#samples += 1;
  }

  async #fitPiece(
    sample: PlannedSample,
    member: PlannedMember,
    first: boolean,
  ): Promise<readonly Uint8Array[]> {
    const read = await this.#window.next();
    const reads: GetResult[] = sample.members.map((one) => (one === member ? read : EMPTY));
    const judged = sample.members.map((one) => (one === member ? one : { ...one, key: '' }));
    const verdict = judgeSample({ ...sample, members: judged }, reads, this.#sniff && first);
    if (verdict !== undefined) {
      const members = verdict.members.map((one, index) => ({
        ...one,
        key: sample.members[index]?.key ?? '',
      }));
      throw new SampleSpoiled({ ...verdict, members });
    }
    return found(read).chunks;
  }

  /** Returns where the data begins. */
  async #header(part: LaidOut): Promise<number> {
    await this.#upload.write(tarHeader(part.name, sizeOf(part)));
    return this.#upload.position;
  }

  async #pad(part: LaidOut): Promise<void> {
    const padding = paddingOf(sizeOf(part));
    if (padding > 0) await this.#upload.write(PADDING.subarray(0, padding));
  }

  #line(sample: PlannedSample, part: LaidOut, at: { offset: number; sha256: string }): void {
    const common = { name: part.name, size: sizeOf(part), ...at, sample: sample.ordinal };
    const source =
      part.kind === 'made' ? { made: part.made } : { key: part.member.key, etag: part.member.etag };
    this.#lines.push({ ...source, ...common });
  }
}

const EMPTY: GetResult = { kind: 'found', chunks: [], size: 0, etag: '' };
const sizeOf = (part: LaidOut): number => (part.kind === 'made' ? part.bytes.length : part.member.size);

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a member of the sample was never read');
  return value;
}

function found(read: GetResult | undefined): Found {
  if (read?.kind !== 'found') throw new Error('a member was packed that was not read');
  return read;
}

function digestOf(chunks: readonly Uint8Array[]): string {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return hash('sha256', first);
  const digest = createHash('sha256');
  for (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}

function* membersInOrder(taken: readonly { laid: readonly LaidOut[] }[]): Generator<PlannedMember> {
  for (const { laid } of taken) for (const part of laid) if (part.kind === 'source') yield part.member;
}
