/**
 * Joins shards of which the samples do not lie together, such as Parquet's. Each sample is encoded again from the bytes
 * of its members. Old shards are read from their first byte to their last, one row group at a time.
 */

import type { MemberLine } from '../documents/documents.ts';
import type {
  EncodedMember,
  MemberBody,
  Outline,
  SampleLines,
  ShardSink,
} from '../documents/shard-format.ts';
import { collect } from '../formats/copy-bytes.ts';
import { MemberList } from '../shard/member-list.ts';
import {
  againOf,
  type JoinInput,
  type JoinJob,
  placesOf,
  type SequentialBytes,
  splitName,
} from './join-job.ts';

/** A sample of the new shard, with its lines in the old one. */
interface Placed {
  readonly input: JoinInput;
  readonly number: number;
  readonly lines: SampleLines;
  readonly repeat: number | undefined;
}

export async function joinRows(job: JoinJob, sink: ShardSink): Promise<MemberList> {
  const placed = placedSamples(job);
  const outlines = placed.map(({ lines }, ordinal): Outline => ({ ordinal, members: membersOf(lines) }));
  const encoder = job.format.encoder({
    settings: job.packing,
    sourceSchema: { columns: job.schema.columns ?? [] },
    outlines,
  });
  const readers = new Map(job.inputs.map((input) => [input, new RowReader(input, job.packing.labelType)]));
  const list = new MemberList();
  await encoder.start?.(sink);
  for (const [ordinal, { input, number, lines, repeat }] of placed.entries()) {
    const outline = outlines[ordinal];
    const reader = readers.get(input);
    if (outline === undefined || reader === undefined) throw new Error('a sample has no input');
    const bodies = await reader.bodies(number, repeat !== undefined || placed[ordinal + 1]?.lines === lines);
    const members = outline.members.map(
      (member, index): EncodedMember => ({ ...member, body: bodies[index] ?? [] }),
    );
    const written = await encoder.add(sink, outline, members);
    const sample = { base: input.base, ...(repeat !== undefined && { repeat }) };
    for (const [index, line] of lines.entries()) list.add(movedLine(line, sample, written[index]?.offset));
  }
  await encoder.finish?.(sink);
  return list;
}

const movedLine = (
  line: MemberLine,
  { base, ...repeat }: { readonly base: number; readonly repeat?: number },
  offset = 0,
): MemberLine => ({ ...line, offset, sample: line.sample + base, ...repeat });

/** The samples in their new order, each followed by its copies. */
const placedSamples = (job: JoinJob): Placed[] =>
  [...placesOf(job)].flatMap(({ input, number, sample: lines, copies }) => [
    { input, number, lines, repeat: undefined },
    ...copies.map((repeat): Placed => ({ input, number, lines, repeat })),
  ]);

const membersOf = (lines: SampleLines): Outline['members'] =>
  lines.map(({ name, column = '', size }) => ({
    name,
    stem: splitName(name).stem,
    column,
    size,
    isLabel: column === 'label',
  }));

/** Samples up to `end`, the first byte in the shard, and the bytes. */
interface HeldRows {
  readonly end: number;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** Gives the members of one old shard's samples, in order. */
class RowReader {
  readonly #input: JoinInput;
  readonly #isInteger: boolean;
  /** The row group that was read last. */
  #held: HeldRows = { end: 0, offset: 0, bytes: Buffer.alloc(0) };

  constructor(input: JoinInput, labelType: string | undefined) {
    this.#input = input;
    this.#isInteger = labelType === 'integer';
  }

  /** @param isHeld the sample is wanted again, so that it cannot be read while it is written */
  async bodies(number: number, isHeld: boolean): Promise<MemberBody[]> {
    if (number >= this.#held.end) {
      const { first, end } = this.#groupOf(number);
      const isAlone = end - first === 1;
      if (isAlone && !isHeld) return this.#streamed(number, this.#input.reader);
      const readFrom = isAlone ? againOf(this.#input, this.#lines(number)) : undefined;
      if (readFrom !== undefined)
        return this.#streamed(number, readFrom(this.#lines(number)[0]?.offset ?? 0));
      await this.#hold(first, end);
    }
    const { offset, bytes } = this.#held;
    return this.#lines(number).map((line) =>
      this.#body(line, bytes.subarray(line.offset - offset, line.offset - offset + line.size)),
    );
  }

  #lines(number: number): SampleLines {
    return this.#input.samples[number] ?? [];
  }

  /** Where columns lie together, the first member of a sample comes before the last one of the sample before. */
  #groupOf(number: number): { readonly first: number; readonly end: number } {
    const isSameAsBefore = (index: number): boolean =>
      (this.#lines(index)[0]?.offset ?? 0) < (this.#lines(index - 1).at(-1)?.offset ?? 0);
    let first = number;
    while (first > this.#held.end && isSameAsBefore(first)) first -= 1;
    let end = number + 1;
    while (end < this.#input.samples.length && isSameAsBefore(end)) end += 1;
    return { first, end };
  }

  async #hold(first: number, end: number): Promise<void> {
    const { reader } = this.#input;
    const offset = this.#lines(first)[0]?.offset ?? 0;
    const last = this.#lines(end - 1).at(-1);
    await reader.skip(offset - reader.position);
    this.#held = {
      end,
      offset,
      bytes: await reader.bytes((last?.offset ?? 0) + (last?.size ?? 0) - offset),
    };
  }

  /** A sample that lies together, member by member. */
  #streamed(number: number, reader: SequentialBytes): MemberBody[] {
    const read = async function* (line: MemberLine): AsyncGenerator<Uint8Array> {
      await reader.skip(line.offset - reader.position);
      yield* reader.take(line.size);
    };
    return this.#lines(number).map((line) => this.#decoded(line, read(line)));
  }

  #body(line: MemberLine, bytes: Buffer): MemberBody {
    return this.#isLabel(line) ? [labelText(bytes)] : [bytes];
  }

  #decoded(line: MemberLine, body: AsyncGenerator<Uint8Array>): MemberBody {
    return this.#isLabel(line) ? decodedLabel(body) : body;
  }

  #isLabel({ column }: MemberLine): boolean {
    return this.#isInteger && column === 'label';
  }
}

/** The encoder takes the text of a label, and the shard holds its number. */
const labelText = (bytes: Buffer): Buffer => Buffer.from(String(bytes.readBigInt64LE()));

async function* decodedLabel(body: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield labelText(await collect(body));
}
