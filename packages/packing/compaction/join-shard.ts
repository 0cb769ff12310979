/**
 * Builds one shard by copying the samples of old shards as they lie. Nothing of it is visible until it is committed.
 */
import type { BlobStore } from '../documents/blob-store.ts';
import type { MemberLine } from '../documents/documents.ts';
import type { Join, MemberFrames, SampleLines, ShardSink } from '../documents/shard-format.ts';
import { GzipSink } from '../shard/gzip-sink.ts';
import { MemberList } from '../shard/member-list.ts';
import { type PartBuffers, ShardUpload, type UploadedShard } from '../shard/shard-upload.ts';
import {
  againOf,
  type JoinInput,
  type JoinJob,
  type Place,
  placesOf,
  samplesIn,
  UniqueNames,
} from './join-job.ts';
import { joinRows } from './join-rows.ts';
import { BufferedBytes } from './shard-reader.ts';

export interface JoinedShard extends UploadedShard {
  readonly list: MemberList;
  readonly samples: number;
}

export async function joinShard(
  { store, buffers }: { readonly store: BlobStore; readonly buffers: PartBuffers },
  job: JoinJob,
): Promise<JoinedShard> {
  const upload = new ShardUpload(store, await store.createUpload(job.key, 'crc32'), buffers);
  try {
    const isGzipped = job.format.isGzipped?.(job.packing) === true;
    const gzip = isGzipped ? new GzipSink(upload) : undefined;
    const sink = gzip ?? upload;
    const list =
      job.format.join.by === 'rows' ? await joinRows(job, sink) : await new Joiner(job, sink).join();
    await gzip?.finish();
    for (const { reader } of job.inputs) await reader.finish();
    return { ...(await upload.finish()), list, samples: Math.max(samplesIn(job), job.samples ?? 0) };
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
  /** All samples of each input that were read. */
  readonly #read = new Map<JoinInput, number>();

  constructor(job: JoinJob, sink: ShardSink) {
    this.#job = job;
    this.#sink = sink;
  }

  async join(): Promise<MemberList> {
    const { inputs, format } = this.#job;
    const head = headOf(this.#job);
    if (head !== undefined) await this.#sink.write(head);
    for (const { reader, extents } of inputs) if (extents?.[0]) await reader.skip(extents[0]);
    for (const place of placesOf(this.#job)) await this.#next(place);
    if (format.memberFrames !== undefined) await this.#sink.write(format.memberFrames.end);
    return this.#list;
  }

  async #next({ input, number, sample, copies }: Place): Promise<void> {
    for (let passed = this.#read.get(input) ?? 0; passed < number; passed += 1)
      await this.#pass(input, passed);
    this.#read.set(input, number + 1);
    const [first, again] =
      copies.length === 0 ? [input, () => input] : await this.#often(input, number, sample);
    await this.#write(first, number, sample);
    for (const repeat of copies) {
      const from = again();
      await this.#write(
        from,
        number,
        sample.map((line) => ({ ...line, repeat })),
      );
      await from.reader.close();
    }
  }

  /** A sample that is written several times: how it is read the first time, and again. */
  async #often(
    input: JoinInput,
    number: number,
    sample: SampleLines,
  ): Promise<readonly [JoinInput, () => JoinInput]> {
    const { position } = input.reader;
    const readFrom = againOf(input, sample);
    if (readFrom !== undefined) return [input, () => ({ ...input, reader: readFrom(position) })];
    const bytes = await this.#bytesOf(input, number);
    const again = (): JoinInput => ({ ...input, reader: new BufferedBytes(bytes, position) });
    return [again(), again];
  }

  /** Reads a sample that is left out. */
  async #pass({ reader, extents }: JoinInput, number: number): Promise<void> {
    const { join } = this.#job.format;
    if (join.by === 'frames') await reader.skip(join.bytesAfter(await reader.bytes(join.headBytes)));
    else await reader.skip((extents?.[number + 1] ?? 0) - (extents?.[number] ?? 0));
  }

  async #bytesOf({ reader, extents }: JoinInput, number: number): Promise<Buffer> {
    const { join } = this.#job.format;
    if (join.by !== 'frames') return reader.bytes((extents?.[number + 1] ?? 0) - (extents?.[number] ?? 0));
    const head = await reader.bytes(join.headBytes);
    return Buffer.concat([head, await reader.bytes(join.bytesAfter(head))]);
  }

  async #write(input: JoinInput, number: number, sample: SampleLines): Promise<void> {
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
function headOf(job: JoinJob): Uint8Array | undefined {
  const { packing, schema } = job;
  const { join } = job.format;
  switch (join.by) {
    case 'memberList':
      return join.head?.(schema);
    case 'table':
      return join.head(sizesInOrder(job), packing, schema);
    case 'frames':
    case 'rows':
      return undefined;
    default:
      return join satisfies never;
  }
}

const sizesInOrder = (job: JoinJob): number[] =>
  [...placesOf(job)].flatMap(({ input: { extents = [] }, number, copies }) => {
    const size = (extents[number + 1] ?? 0) - (extents[number] ?? 0);
    return [size, ...copies.map(() => size)];
  });
