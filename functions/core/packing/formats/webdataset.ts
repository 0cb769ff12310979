/** WebDataset: a tar in which the members of a sample follow each other. */
import type { ShardEncoder, ShardFormat } from './format.ts';
import { pour } from './pour.ts';
import { paddingOf, TRAILER, tarHeader, tarMemberBytes } from './tar.ts';

const PADDING = new Uint8Array(512);

const encoder: ShardEncoder = {
  start: () => Promise.resolve(),
  add: async (sink, _outline, members) => {
    const placed = [];
    for (const member of members) {
      await sink.write(tarHeader(member.name, member.size));
      const offset = sink.position;
      const sha256 = await pour(sink, member.body);
      const padding = paddingOf(member.size);
      if (padding > 0) await sink.write(PADDING.subarray(0, padding));
      placed.push({ offset, sha256 });
    }
    return placed;
  },
  finish: (sink) => sink.write(TRAILER),
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
