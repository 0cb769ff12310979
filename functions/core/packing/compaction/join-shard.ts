/** Builds one shard out of the samples of older ones, copied as they lie. Nothing of it is visible until it is decided. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { Shape } from '../formats/generation-shape.ts';
import { mdsConfig } from '../formats/mds.ts';
import { paddingOf, TRAILER, tarHeader } from '../formats/tar.ts';
import type { BlobStore } from '../model/blob-store.ts';
import type { MemberLine } from '../model/documents.ts';
import type { ShardSink } from '../model/shard-format.ts';
import { GzipSink } from '../shard/gzip-sink.ts';
import { MemberList } from '../shard/member-list.ts';
import { type PartBuffers, ShardUpload, type UploadedShard } from '../shard/shard-upload.ts';
import { type Extents, mdsHead, type SampleLines } from './extents.ts';
import { UniqueNames } from './joined-names.ts';
import type { ShardReader } from './shard-reader.ts';

/** One old shard, opened. */
export interface JoinInput {
  readonly reader: ShardReader;
  readonly samples: readonly SampleLines[];
  /** Where its samples lie; undefined for TFRecord, whose frames tell. */
  readonly extents: Extents | undefined;
  /** Added to its numbers of samples. */
  readonly base: number;
}

export interface JoinJob {
  readonly key: string;
  readonly packing: PackingSettings;
  readonly shape: Shape;
  readonly inputs: readonly JoinInput[];
  /** For each place the input whose next sample it gets. */
  readonly order: Uint32Array;
  readonly isGzipped: boolean;
}

export interface JoinedShard extends UploadedShard {
  readonly list: MemberList;
  readonly samples: number;
}

export async function joinShard(
  { store, buffers }: { readonly store: BlobStore; readonly buffers: PartBuffers },
  job: JoinJob,
): Promise<JoinedShard> {
  const upload = new ShardUpload(store, await store.createUpload(job.key), buffers);
  try {
    const gzip = job.isGzipped ? new GzipSink(upload) : undefined;
    const list = await new Joiner(job, gzip ?? upload).join();
    await gzip?.finish();
    for (const { reader } of job.inputs) await reader.finish();
    return { ...(await upload.finish()), list, samples: job.order.length };
  } catch (error: unknown) {
    for (const { reader } of job.inputs) await reader.close();
    await upload.abandon();
    throw error;
  }
}

const ZEROS = new Uint8Array(512);
/** Length and its checksum before a TFRecord's data, a checksum after it. */
const FRAME_HEAD_BYTES = 12;
const FRAME_TAIL_BYTES = 4;

class Joiner {
  readonly #job: JoinJob;
  readonly #sink: ShardSink;
  readonly #list = new MemberList();
  readonly #names = new UniqueNames();
  /** Samples taken of each input. */
  readonly #taken: number[];

  constructor(job: JoinJob, sink: ShardSink) {
    this.#job = job;
    this.#sink = sink;
    this.#taken = job.inputs.map(() => 0);
  }

  async join(): Promise<MemberList> {
    await this.#head();
    for (const input of this.#job.order) await this.#next(input);
    if (this.#job.packing.format === 'webdataset') await this.#sink.write(TRAILER);
    return this.#list;
  }

  /** What comes before the first sample: written once, left out of every input. */
  async #head(): Promise<void> {
    const { inputs, packing, shape, order } = this.#job;
    if (packing.format === 'mds') {
      const facts = { columns: shape.columns ?? [] };
      await this.#sink.write(mdsHead(sizesInOrder(inputs, order), mdsConfig(packing, facts)));
    } else if (shape.csvHeader !== undefined) await this.#sink.write(Buffer.from(shape.csvHeader));
    for (const { reader, extents } of inputs) if (extents?.[0]) await reader.skip(extents[0]);
  }

  async #next(index: number): Promise<void> {
    const input = this.#job.inputs[index];
    const number = this.#taken[index] ?? 0;
    const sample = input?.samples[number];
    if (input === undefined || sample === undefined)
      throw new Error('more samples are asked for than there are');
    this.#taken[index] = number + 1;
    if (input.extents === undefined) return this.#copyFrame(input, sample);
    const start = input.extents[number] ?? 0;
    const bytes = (input.extents[number + 1] ?? start) - start;
    const names =
      this.#job.packing.format === 'webdataset'
        ? this.#names.rename(sample, input.base + (sample[0]?.sample ?? 0))
        : undefined;
    if (names !== undefined) return this.#copyRenamed(input, { sample, names, start });
    const moved = this.#sink.position - start;
    await this.#pour(input, bytes);
    this.#note(input, sample, (line) => line.offset + moved);
  }

  async #copyFrame(input: JoinInput, sample: SampleLines): Promise<void> {
    const moved = this.#sink.position - input.reader.position;
    const head = await input.reader.bytes(FRAME_HEAD_BYTES);
    await this.#sink.write(head);
    await this.#pour(input, Number(head.readBigUInt64LE()) + FRAME_TAIL_BYTES);
    this.#note(input, sample, (line) => line.offset + moved);
  }

  /** The headers are made anew; the data is the same. */
  async #copyRenamed(
    input: JoinInput,
    { sample, names, start }: { sample: SampleLines; names: readonly string[]; start: number },
  ): Promise<void> {
    let position = start;
    const offsets: number[] = [];
    for (const [index, line] of sample.entries()) {
      await input.reader.skip(line.offset - position);
      await this.#sink.write(tarHeader(names[index] ?? line.name, line.size));
      offsets.push(this.#sink.position);
      await this.#pour(input, line.size);
      const padding = paddingOf(line.size);
      if (padding > 0) await this.#sink.write(ZEROS.subarray(0, padding));
      await input.reader.skip(padding);
      position = line.offset + line.size + padding;
    }
    const renamed = sample.map((line, index) => ({ ...line, name: names[index] ?? line.name }));
    this.#note(input, renamed, (_, index) => offsets[index] ?? 0);
  }

  async #pour({ reader }: JoinInput, bytes: number): Promise<void> {
    for await (const chunk of reader.take(bytes)) await this.#sink.write(chunk);
  }

  #note(input: JoinInput, sample: SampleLines, offsetOf: (line: MemberLine, index: number) => number): void {
    for (const [index, line] of sample.entries())
      this.#list.add({ ...line, offset: offsetOf(line, index), sample: line.sample + input.base });
  }
}

function sizesInOrder(inputs: readonly JoinInput[], order: Uint32Array): number[] {
  const taken = inputs.map(() => 0);
  return Array.from(order, (index) => {
    const number = taken[index] ?? 0;
    taken[index] = number + 1;
    const extents = inputs[index]?.extents ?? [];
    return (extents[number + 1] ?? 0) - (extents[number] ?? 0);
  });
}
