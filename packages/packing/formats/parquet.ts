/**
 * Parquet: a column for each column of the samples, uncompressed, in row groups that a reader holds at once.
 * https://parquet.apache.org/docs/file-format/. Values are plain and without levels, so that each member lies in the
 * file as it is.
 */
import { isUtf8 } from 'node:buffer';
import { createHash, hash } from 'node:crypto';
import { messageOf, TransientError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { type FileMetaData, parquetMetadata } from 'hyparquet';
import type { MemberLine } from '../documents/documents.ts';
import {
  type EncodedMember,
  type Outline,
  type SampleFormat,
  type ShardContext,
  type ShardEncoder,
  type ShardSink,
  UnfitSampleError,
  type WrittenMember,
} from '../documents/shard-format.ts';
import { collect, copyBytes, isInMemory } from './copy-bytes.ts';
import { integerLabel, parseIntegerLabel } from './integer-label.ts';
import {
  columnsOf,
  footer,
  INTEGER_BYTES,
  isTextColumn,
  LENGTH_BYTES,
  layOutGroups,
  MAGIC,
  type ParquetColumn,
  type RowGroup,
  valueBytes,
} from './parquet-layout.ts';

const WRITE_BYTES = 1024 * 1024;

const lengthOf = (bytes: number): Buffer => {
  const word = Buffer.alloc(LENGTH_BYTES);
  word.writeUInt32LE(bytes);
  return word;
};

function integer(text: Buffer): Buffer {
  const bytes = Buffer.alloc(INTEGER_BYTES);
  bytes.writeBigInt64LE(parseIntegerLabel(text.toString()));
  return bytes;
}

/** Before a byte of the sample is written. Large members, which are read while they are written, come later (`stopsAt`). */
function checkTexts(members: readonly EncodedMember[], columns: readonly ParquetColumn[]): void {
  for (const { name, kind } of columns) {
    const body = members.find(({ column }) => column === name)?.body;
    if (kind === 'bytes' || body === undefined || !isInMemory(body)) continue;
    const bytes = Buffer.concat(body);
    if (kind === 'integer') parseIntegerLabel(bytes.toString());
    else if (!isUtf8(bytes)) throw new UnfitSampleError('notText');
  }
}

/** Every place in the file follows from the planned sizes. @throws TransientError */
function checkLength({ name, size }: EncodedMember, bytes: number): void {
  if (bytes !== size)
    throw new TransientError(`${quoted(name)} came with ${bytes} bytes, not the ${size} of the listing`);
}

/** The row group that is being filled, each value in its place. */
class HeldGroup {
  readonly #group: RowGroup;
  readonly #bytes: Buffer;
  /** Where the next value of each column goes. */
  readonly #next: number[];

  constructor(group: RowGroup) {
    this.#group = group;
    this.#bytes = Buffer.allocUnsafe(group.bytes);
    this.#next = group.chunks.map(({ header, offset }) => {
      this.#bytes.set(header, offset - group.offset);
      return offset - group.offset + header.length;
    });
  }

  /** @returns its offset in the file */
  put(column: number, bytes: Uint8Array): number {
    const at = this.#next[column] ?? 0;
    this.#bytes.set(bytes, at);
    this.#next[column] = at + bytes.length;
    return this.#group.offset + at;
  }

  async putBody(column: number, member: EncodedMember): Promise<WrittenMember> {
    const { body } = member;
    if (isInMemory(body)) {
      const whole = body.length === 1 && body[0] !== undefined ? body[0] : Buffer.concat(body);
      checkLength(member, whole.length);
      return { offset: this.put(column, whole), sha256: hash('sha256', whole) };
    }
    const digest = createHash('sha256');
    const offset = this.put(column, new Uint8Array());
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > member.size) break;
      digest.update(chunk);
      this.put(column, chunk);
    }
    checkLength(member, bytes);
    return { offset, sha256: digest.digest('hex') };
  }

  async write(sink: ShardSink): Promise<void> {
    for (let at = 0; at < this.#bytes.length; at += WRITE_BYTES)
      await sink.write(this.#bytes.subarray(at, at + WRITE_BYTES));
  }
}

class ParquetEncoder implements ShardEncoder {
  readonly #columns: readonly ParquetColumn[];
  readonly #groups: readonly RowGroup[];
  /** The group of the next sample, and how many of its rows there are. */
  #group = 0;
  #row = 0;
  #held: HeldGroup | undefined;

  constructor(context: ShardContext) {
    this.#columns = columnsOf(context);
    this.#groups = layOutGroups(context.outlines, this.#columns);
  }

  async start(sink: ShardSink): Promise<void> {
    await sink.write(MAGIC);
  }

  async add(
    sink: ShardSink,
    outline: Outline,
    members: readonly EncodedMember[],
  ): Promise<readonly WrittenMember[]> {
    checkTexts(members, this.#columns);
    const group = this.#groups[this.#group];
    if (group === undefined) throw new Error('the shard holds more samples than were laid out');
    const written = await (group.rows === 1
      ? this.#stream(sink, group, outline, members)
      : this.#hold(group, outline, members));
    this.#row += 1;
    if (this.#row === group.rows) {
      await this.#held?.write(sink);
      this.#held = undefined;
      this.#group += 1;
      this.#row = 0;
    }
    return members.map(({ name, column }) => {
      const place = written.get(column);
      if (place === undefined) throw new Error(`${name} would be lost: the shard has no column ${column}`);
      return place;
    });
  }

  async finish(sink: ShardSink): Promise<void> {
    await sink.write(footer(this.#groups, this.#columns));
  }

  async #hold(
    group: RowGroup,
    outline: Outline,
    members: readonly EncodedMember[],
  ): Promise<Map<string, WrittenMember>> {
    this.#held ??= new HeldGroup(group);
    const written = new Map<string, WrittenMember>();
    for (const [index, { name, kind }] of this.#columns.entries()) {
      const member = members.find(({ column }) => column === name);
      if (kind === 'integer' && member !== undefined) {
        const offset = this.#held.put(index, integer(await collect(member.body)));
        written.set(name, { offset, size: INTEGER_BYTES, sha256: '' });
        continue;
      }
      this.#held.put(index, lengthOf(valueBytes(outline, { name, kind }) - LENGTH_BYTES));
      if (member === undefined) this.#held.put(index, Buffer.from(outline.members[0]?.stem ?? ''));
      else written.set(name, await this.#held.putBody(index, member));
    }
    return written;
  }

  /** A row group of one sample: its columns follow each other as its members do. */
  async #stream(
    sink: ShardSink,
    group: RowGroup,
    outline: Outline,
    members: readonly EncodedMember[],
  ): Promise<Map<string, WrittenMember>> {
    const written = new Map<string, WrittenMember>();
    for (const [index, { name, kind }] of this.#columns.entries()) {
      const member = members.find(({ column }) => column === name);
      await sink.write(group.chunks[index]?.header ?? new Uint8Array());
      if (kind === 'integer' && member !== undefined) {
        const value = integer(await collect(member.body));
        written.set(name, { offset: sink.position, size: INTEGER_BYTES, sha256: '' });
        await sink.write(value);
        continue;
      }
      await sink.write(lengthOf(valueBytes(outline, { name, kind }) - LENGTH_BYTES));
      const offset = sink.position;
      if (member === undefined) await sink.write(Buffer.from(outline.members[0]?.stem ?? ''));
      else {
        written.set(name, { offset, sha256: await copyBytes(sink, member.body) });
        checkLength(member, sink.position - offset);
      }
    }
    return written;
  }
}

export const parquet: SampleFormat = {
  takes: 'samples',
  suffix: () => 'parquet',
  order: 'column',
  fixedLayout: true,
  isColumnar: true,
  tailProblem: footerProblem,
  largestSample: 2e9,
  labelNumber: integerLabel,
  plannedBytes: (name, size) => size + LENGTH_BYTES + name.length,
  refuses: (outline, sourceSchema) => {
    const mine = outline.members.map(({ column }) => column).sort();
    return mine.length === sourceSchema.columns.length &&
      mine.every((name, index) => name === sourceSchema.columns[index])
      ? undefined
      : 'columnsDiffer';
  },
  stopsAt: (column) => (isTextColumn(column) ? ['notText'] : []),
  encoder: (context) => new ParquetEncoder(context),
  schema: ({ labelType }, { columns }) => ({ labelType, columns: [...columns] }),
  join: { by: 'rows' },
};

// Reads the footer of a Parquet file as its readers do, by a library that did not write it, and compares it with the
// member list: a reader finds a value by the footer alone.

type Chunk = FileMetaData['row_groups'][number]['columns'][number];

/** @param tail the last bytes of the shard, with the footer @param lines sorted by offset @returns what differs */
function footerProblem(tail: Uint8Array, lines: readonly MemberLine[]): string | undefined {
  let metadata: FileMetaData;
  try {
    metadata = parquetMetadata(new Uint8Array(tail).buffer);
  } catch (error: unknown) {
    return `has no footer that Parquet's readers understand: ${messageOf(error)}`;
  }
  const columns = Map.groupBy(lines, ({ column = '' }) => column);
  const wrong = metadata.row_groups.some(({ columns: chunks }) => chunks.length !== columns.size + 1);
  if (wrong) return `has a footer without its ${columns.size} columns and the key`;
  for (const [name, members] of columns) {
    const problem = columnProblem(metadata, name, members);
    if (problem !== undefined) return `has a footer that ${problem} of the column ${name}`;
  }
  return undefined;
}

/** Each chunk must end with its last value, and hold as many as the row group has rows. */
function columnProblem(
  { num_rows: rows, row_groups: groups }: FileMetaData,
  name: string,
  members: readonly MemberLine[],
): string | undefined {
  if (Number(rows) !== members.length) return `names ${rows} rows, not the ${members.length}`;
  let next = 0;
  for (const group of groups) {
    const chunk = group.columns.find(({ meta_data: data }) => data?.path_in_schema[0] === name);
    const range = chunk && rangeOf(chunk);
    const own = members.slice(next, next + Number(group.num_rows));
    next += own.length;
    const [first, last] = [own[0], own.at(-1)];
    if (range === undefined || first === undefined || last === undefined) return 'lacks a part';
    if (first.offset < range.start || last.offset + last.size !== range.end) return 'says another place';
  }
  return next === members.length ? undefined : 'leaves out rows';
}

function rangeOf({ meta_data: data }: Chunk): { readonly start: number; readonly end: number } | undefined {
  if (data === undefined || data.codec !== 'UNCOMPRESSED') return undefined;
  const start = Number(data.data_page_offset);
  return { start, end: start + Number(data.total_compressed_size) };
}
