/**
 * Builds one shard by copying the samples of old shards as they lie. Nothing of it is visible until it is committed.
 */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { BlobStore } from '../model/blob-store.ts';
import type { MemberLine } from '../model/documents.ts';
import type {
  DataSchema,
  Extents,
  Join,
  MemberFrames,
  SampleLines,
  ShardFormat,
  ShardSink,
} from '../model/shard-format.ts';
import { GzipSink } from '../shard/gzip-sink.ts';
import { MemberList } from '../shard/member-list.ts';
import { type PartBuffers, ShardUpload, type UploadedShard } from '../shard/shard-upload.ts';
import { UniqueNames } from './joined-names.ts';
import type { ShardReader } from './shard-reader.ts';

/** One old shard, opened. */
export interface JoinInput {
  readonly reader: ShardReader;
  readonly samples: readonly SampleLines[];
  /** Undefined if only the frames tell where its samples lie. */
  readonly extents: Extents | undefined;
  /** Added to its numbers of samples. */
  readonly base: number;
}

export interface JoinJob {
  readonly key: string;
  readonly packing: PackingSettings;
  readonly format: ShardFormat;
  readonly schema: DataSchema;
  readonly inputs: readonly JoinInput[];
  /** For each place the input whose next sample it gets. */
  readonly order: Uint32Array;
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
    const isGzipped = job.format.isGzipped?.(job.packing) === true;
    const gzip = isGzipped ? new GzipSink(upload) : undefined;
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
    const { inputs, order, format } = this.#job;
    const head = headOf(this.#job);
    if (head !== undefined) await this.#sink.write(head);
    for (const { reader, extents } of inputs) if (extents?.[0]) await reader.skip(extents[0]);
    for (const input of order) await this.#next(input);
    if (format.memberFrames !== undefined) await this.#sink.write(format.memberFrames.end);
    return this.#list;
  }

  async #next(index: number): Promise<void> {
    const input = this.#job.inputs[index];
    const number = this.#taken[index] ?? 0;
    const sample = input?.samples[number];
    if (input === undefined || sample === undefined)
      throw new Error('the order names more samples than the shard holds');
    this.#taken[index] = number + 1;
    const { join } = this.#job.format;
    if (join.by === 'frames') return this.#copyFrame(input, { sample, join });
    const [start = 0, end = start] = input.extents?.slice(number, number + 2) ?? [];
    return this.#copyExtent(input, { sample, start, end });
  }

  async #copyExtent(
    input: JoinInput,
    { sample, start, end }: { sample: SampleLines; start: number; end: number },
  ): Promise<void> {
    const { memberFrames } = this.#job.format;
    if (memberFrames !== undefined) {
      const names = this.#names.rename(sample, input.base + (sample[0]?.sample ?? 0));
      if (names !== undefined) return this.#copyRenamed(input, { sample, names, start, memberFrames });
    }
    const moved = this.#sink.position - start;
    await this.#copy(input, end - start);
    this.#note(input, sample, (line) => line.offset + moved);
  }

  async #copyFrame(
    input: JoinInput,
    { sample, join }: { sample: SampleLines; join: Extract<Join, { by: 'frames' }> },
  ): Promise<void> {
    const moved = this.#sink.position - input.reader.position;
    const head = await input.reader.bytes(join.headBytes);
    await this.#sink.write(head);
    await this.#copy(input, join.bytesAfter(head));
    this.#note(input, sample, (line) => line.offset + moved);
  }

  /** Writes new bytes around the members, for their new names. */
  async #copyRenamed(
    input: JoinInput,
    {
      sample,
      names,
      start,
      memberFrames,
    }: { sample: SampleLines; names: readonly string[]; start: number; memberFrames: MemberFrames },
  ): Promise<void> {
    let position = start;
    const offsets: number[] = [];
    for (const [index, line] of sample.entries()) {
      await input.reader.skip(line.offset - position);
      await this.#sink.write(memberFrames.before(names[index] ?? line.name, line.size));
      offsets.push(this.#sink.position);
      await this.#copy(input, line.size);
      const after = memberFrames.after(line.size);
      if (after.length > 0) await this.#sink.write(after);
      await input.reader.skip(after.length);
      position = line.offset + line.size + after.length;
    }
    const renamed = sample.map((line, index) => ({ ...line, name: names[index] ?? line.name }));
    this.#note(input, renamed, (_, index) => offsets[index] ?? 0);
  }

  async #copy({ reader }: JoinInput, bytes: number): Promise<void> {
    for await (const chunk of reader.take(bytes)) await this.#sink.write(chunk);
  }

  #note(input: JoinInput, sample: SampleLines, offsetOf: (line: MemberLine, index: number) => number): void {
    for (const [index, line] of sample.entries())
      this.#list.add({ ...line, offset: offsetOf(line, index), sample: line.sample + input.base });
  }
}

/** What comes before the first sample. It is written once and left out of every input. */
function headOf({ format: { join }, packing, schema, inputs, order }: JoinJob): Uint8Array | undefined {
  switch (join.by) {
    case 'memberList':
      return join.head?.(schema);
    case 'table':
      return join.head(sizesInOrder(inputs, order), packing, schema);
    case 'frames':
      return undefined;
    default:
      return join satisfies never;
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
