/** WebDataset: a tar in which the members of a sample follow each other. */
import type { MemberLine } from '../documents/documents.ts';
import { LineBuffer } from '../documents/line-buffer.ts';
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
import { BLOCK, paddingOf, TRAILER, tarHeader, tarMemberBytes } from './tar.ts';

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
