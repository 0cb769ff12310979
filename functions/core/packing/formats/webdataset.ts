/** WebDataset: a tar in which the members of a sample follow each other. */
import type { EncodedMember, Placed, ShardEncoder, ShardFormat, ShardSink } from '../model/shard-format.ts';
import { bytesIn, isInMemory, pour, pourNow } from './copy-bytes.ts';
import { BLOCK, paddingOf, TRAILER, tarHeader, tarMemberBytes } from './tar.ts';

/** By their length. */
const PADDINGS = Array.from({ length: BLOCK }, (_, length) => TRAILER.subarray(0, length));

const paddingAfter = ({ size }: EncodedMember): Uint8Array => PADDINGS[paddingOf(size)] ?? TRAILER;

/** Undefined when some of it would have to wait; then nothing is written. */
function addNow(sink: ShardSink, member: EncodedMember): Placed | undefined {
  const { body } = member;
  const header = tarHeader(member.name, member.size);
  if (!isInMemory(body) || header.length + bytesIn(body) + BLOCK >= sink.room) return undefined;
  void sink.write(header);
  const offset = sink.position;
  const sha256 = pourNow(sink, body);
  void sink.write(paddingAfter(member));
  return { offset, sha256 };
}

async function addOn(
  sink: ShardSink,
  members: readonly EncodedMember[],
  placed: Placed[],
): Promise<readonly Placed[]> {
  for (const member of members.slice(placed.length)) {
    await sink.write(tarHeader(member.name, member.size));
    const offset = sink.position;
    const sha256 = await pour(sink, member.body);
    await sink.write(paddingAfter(member));
    placed.push({ offset, sha256 });
  }
  return placed;
}

const encoder: ShardEncoder = {
  start: () => Promise.resolve(),
  add: (sink, _outline, members) => {
    const placed: Placed[] = [];
    for (const member of members) {
      const added = addNow(sink, member);
      if (added === undefined) return addOn(sink, members, placed);
      placed.push(added);
    }
    return placed;
  },
  finish: async (sink) => {
    await sink.write(TRAILER);
  },
};

export const webdataset: ShardFormat = {
  suffix: () => 'tar',
  grouped: true,
  order: 'suffix',
  fixedLayout: false,
  largestSample: Number.POSITIVE_INFINITY,
  plannedBytes: tarMemberBytes,
  refuses: () => undefined,
  encoder: () => encoder,
};
