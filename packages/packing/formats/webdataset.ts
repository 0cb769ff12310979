/** WebDataset: a tar in which the members of a sample follow each other. */

import { LineBuffer } from '../documents/compressed-lines.ts';
import type { MemberLine } from '../documents/documents.ts';
import type {
  EncodedMember,
  MemberFrames,
  SampleFormat,
  SampleLines,
  ShardEncoder,
  ShardIndex,
  ShardSink,
  WrittenMember,
} from '../documents/shard-format.ts';
import { bytesIn, copyBytes, copyBytesSync, isInMemory } from './copy-bytes.ts';

// POSIX ustar headers. The same name and size give the same bytes: mtime 0, owner 0, mode 0444. A PAX header precedes a
// name that ustar cannot hold (over 100 bytes without a fitting slash, or not ASCII) and a size of 8 GiB or more.
// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html

const BLOCK = 512;
const USTAR_SIZE_LIMIT = 8 * 1024 ** 3;

/** The end of an archive. */
const TRAILER = new Uint8Array(2 * BLOCK);

/** Zeros after `size` bytes of data. */
const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

interface UstarName {
  readonly name: string;
  readonly prefix: string;
}

/** Splits a path into name (100 bytes) and prefix (155 bytes); undefined if it does not fit. */
function splitPath(path: string): UstarName | undefined {
  if (!/^[\x20-\x7e]*$/.test(path)) return undefined;
  if (path.length <= 100) return { name: path, prefix: '' };
  const slash = path.indexOf('/', path.length - 101);
  if (slash <= 0 || slash > 155 || slash === path.length - 1) return undefined;
  return { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
}

const TEMPLATE = ((): Buffer => {
  const block = Buffer.alloc(BLOCK);
  block.write('0000444\0', 100, 'latin1');
  block.write('0000000\0', 108, 'latin1');
  block.write('0000000\0', 116, 'latin1');
  block.write('00000000000\0', 136, 'latin1');
  block.write('        ', 148, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  return block;
})();
const TEMPLATE_SUM = TEMPLATE.reduce((sum, byte) => sum + byte, 0);

/** Writes every byte of one header block. */
function writeBlock(
  target: Buffer,
  at: number,
  fields: { path: UstarName; size: number; type: string },
): void {
  TEMPLATE.copy(target, at);
  target.write(fields.path.name, at, 'latin1');
  target.write(fields.size.toString(8).padStart(11, '0'), at + 124, 'latin1');
  target[at + 156] = fields.type.charCodeAt(0);
  if (fields.path.prefix !== '') target.write(fields.path.prefix, at + 345, 'latin1');
  let sum = TEMPLATE_SUM;
  const end = at + fields.path.name.length;
  for (let index = at; index < end; index += 1) sum += target[index] ?? 0;
  for (let index = at + 124; index < at + 136; index += 1) sum += target[index] ?? 0;
  sum += target[at + 156] ?? 0;
  for (let index = at + 345; index < at + 345 + fields.path.prefix.length; index += 1)
    sum += target[index] ?? 0;
  target.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
}

/** `<length> <key>=<value>\n`. The length counts its own digits too. */
function paxRecord(key: string, value: string): string {
  const body = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(body);
  let length = bytes + String(bytes).length;
  length = bytes + String(length).length;
  return `${length}${body}`;
}

/** Header blocks of one regular file: 512 bytes, or at least 1,536 with PAX. */
function tarHeader(path: string, size: number): Buffer {
  const plain = splitPath(path);
  if (plain !== undefined && size < USTAR_SIZE_LIMIT) {
    // From Node's pool: allocating a separate buffer takes four times as long as everything else here.
    const block = Buffer.allocUnsafe(BLOCK);
    writeBlock(block, 0, { path: plain, size, type: '0' });
    return block;
  }
  const records =
    (plain === undefined ? paxRecord('path', path) : '') +
    (size < USTAR_SIZE_LIMIT ? '' : paxRecord('size', String(size)));
  const data = Buffer.from(records, 'utf8');
  const header = Buffer.alloc(BLOCK + data.length + paddingOf(data.length) + BLOCK);
  writeBlock(header, 0, { path: { name: 'PaxHeader/tidewheel', prefix: '' }, size: data.length, type: 'x' });
  data.copy(header, BLOCK);
  const fallback = { name: path.replace(/[^\x20-\x7e]/g, '_').slice(-100), prefix: '' };
  writeBlock(header, header.length - BLOCK, {
    path: plain ?? fallback,
    size: size < USTAR_SIZE_LIMIT ? size : 0,
    type: '0',
  });
  return header;
}

/** Bytes of a member of this name and size in an archive. */
function tarMemberBytes(path: string, size: number): number {
  const isPlain = size < USTAR_SIZE_LIMIT && splitPath(path) !== undefined;
  return (isPlain ? BLOCK : tarHeader(path, size).length) + size + paddingOf(size);
}

/** Zeros by their number. */
const PADDINGS = Array.from({ length: BLOCK }, (_, length) => TRAILER.subarray(0, length));

const paddingAfter = (size: number): Uint8Array => PADDINGS[paddingOf(size)] ?? TRAILER;

/** Undefined if a write would have to wait; then nothing is written. */
function addNow(sink: ShardSink, member: EncodedMember): WrittenMember | undefined {
  const { body, stored } = member;
  if (stored !== undefined) return undefined;
  const header = tarHeader(member.name, member.size);
  if (!isInMemory(body) || header.length + bytesIn(body) + BLOCK >= sink.room) return undefined;
  void sink.write(header);
  const offset = sink.position;
  const sha256 = copyBytesSync(sink, body);
  void sink.write(paddingAfter(member.size));
  return { offset, sha256 };
}

async function addOn(
  sink: ShardSink,
  members: readonly EncodedMember[],
  written: WrittenMember[],
): Promise<readonly WrittenMember[]> {
  for (const member of members.slice(written.length)) {
    await sink.write(tarHeader(member.name, member.size));
    const offset = sink.position;
    const sums = (await member.stored?.append()) ?? { sha256: await copyBytes(sink, member.body) };
    await sink.write(paddingAfter(member.size));
    written.push({ offset, ...sums });
  }
  return written;
}

const encoder: ShardEncoder = {
  add: (sink, _outline, members) => {
    const written: WrittenMember[] = [];
    for (const member of members) {
      const added = addNow(sink, member);
      if (added === undefined) return addOn(sink, members, written);
      written.push(added);
    }
    return written;
  },
  finish: async (sink) => {
    await sink.write(TRAILER);
  },
};

const memberFrames: MemberFrames = { before: tarHeader, after: paddingAfter, end: TRAILER };

function endOf(sample: SampleLines): number {
  const last = sample.at(-1);
  return last === undefined ? 0 : last.offset + last.size + paddingOf(last.size);
}

/**
 * DALI's index of one tar: `v1.2 <samples>`, then suffix, offset, size and name of every member of a sample. DALI
 * splits at blanks and finds members by their offsets alone, so a blank in a name is written as `_`. Members of a
 * sample lie next to each other.
 */
class DaliIndex implements ShardIndex {
  readonly #rows = new LineBuffer();
  #row = '';
  #stem: string | undefined;

  add({ name, offset, size }: MemberLine): void {
    const dot = name.indexOf('.', name.lastIndexOf('/') + 1);
    const stem = name.slice(0, dot);
    const member = `${name.slice(dot + 1)} ${offset} ${size} ${name.replaceAll(' ', '_')}`;
    if (stem === this.#stem) this.#row += ` ${member}`;
    else {
      this.#endRow();
      this.#stem = stem;
      this.#row = member;
    }
  }

  body(): Uint8Array {
    this.#endRow();
    return Buffer.concat([Buffer.from(`v1.2 ${this.#rows.lines}\n`), this.#rows.bytes]);
  }

  #endRow(): void {
    if (this.#stem !== undefined) this.#rows.add(this.#row);
    this.#stem = undefined;
  }
}

export const webdataset: SampleFormat = {
  takes: 'samples',
  copiesMembers: true,
  suffix: () => 'tar',
  order: 'suffix',
  plannedBytes: tarMemberBytes,
  encoder: () => encoder,
  schema: () => ({}),
  join: { by: 'memberList', extents: (samples) => [0, ...samples.map(endOf)] },
  memberFrames,
  shardIndex: () => new DaliIndex(),
};
