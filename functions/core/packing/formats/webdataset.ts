/** WebDataset: a tar in which the members of a sample follow each other. */
import type { ShardEncoder, ShardFormat } from './format.ts';
import { pour } from './pour.ts';
import { BLOCK, paddingOf, TRAILER, tarHeader, tarMemberBytes } from './tar.ts';

/** By their length. */
const PADDINGS = Array.from({ length: BLOCK }, (_, length) => TRAILER.subarray(0, length));

const encoder: ShardEncoder = {
  start: () => Promise.resolve(),
  add: async (sink, _outline, members) => {
    const placed = [];
    for (const member of members) {
      const noRoom = sink.write(tarHeader(member.name, member.size));
      if (noRoom !== undefined) await noRoom;
      const offset = sink.position;
      const poured = pour(sink, member.body);
      const sha256 = typeof poured === 'string' ? poured : await poured;
      const padded = sink.write(PADDINGS[paddingOf(member.size)] ?? TRAILER);
      if (padded !== undefined) await padded;
      placed.push({ offset, sha256 });
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
