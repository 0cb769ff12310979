/** Where the samples lie in a sealed shard: from its member list, or, for TFRecord, from the frames themselves. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { RECORD_HEAD_BYTES } from '../formats/recordio.ts';
import { paddingOf } from '../formats/tar.ts';
import type { MemberLine } from '../model/documents.ts';

type Format = PackingSettings['format'];

/** The lines of one sample, which follow each other. */
export type SampleLines = readonly MemberLine[];

export function samplesOf(lines: readonly MemberLine[]): SampleLines[] {
  const samples: MemberLine[][] = [];
  let last: MemberLine | undefined;
  for (const line of lines) {
    if (last?.sample === line.sample && last.repeat === line.repeat) samples.at(-1)?.push(line);
    else samples.push([line]);
    last = line;
  }
  return samples;
}

/** First byte of each sample and, last, the end of the last one. */
export type Extents = readonly number[];

/** undefined where only the shard's own bytes tell. */
export function extentsOf(
  format: Format,
  samples: readonly SampleLines[],
  shardBytes: number,
): Extents | undefined {
  switch (format) {
    case 'webdataset':
      return [0, ...samples.map(endInTar)];
    case 'recordio':
      return [...samples.map(startOfRecord), shardBytes];
    case 'lines':
    case 'records':
      return [startOfText(samples), ...samples.map(endOfText)];
    case 'tfrecord':
    case 'mds':
      return undefined;
    default:
      return format satisfies never;
  }
}

const endOf = ({ offset, size }: MemberLine): number => offset + size;

function endInTar(sample: SampleLines): number {
  const last = sample.at(-1);
  return last === undefined ? 0 : endOf(last) + paddingOf(last.size);
}

const startOfRecord = (sample: SampleLines): number =>
  (sample.find(({ column }) => column !== 'label')?.offset ?? 0) - RECORD_HEAD_BYTES;

const startOfText = ([first]: readonly SampleLines[]): number => first?.[0]?.offset ?? 0;
const endOfText = (sample: SampleLines): number => Math.max(...sample.map(endOf));

/** The table at the head of an MDS shard: number of samples, then first byte of each and the end. */
export function mdsExtents(head: Buffer): Extents {
  const count = head.readUInt32LE();
  return Array.from({ length: count + 1 }, (_, index) => head.readUInt32LE(4 + 4 * index));
}

export const mdsTableBytes = (samples: number): number => 4 + 4 * (samples + 1);

/** Head of an MDS shard of samples of these sizes. */
export function mdsHead(sizes: readonly number[], config: object): Buffer {
  const text = Buffer.from(JSON.stringify(config));
  const table = Buffer.alloc(mdsTableBytes(sizes.length));
  table.writeUInt32LE(sizes.length);
  let offset = table.length + text.length;
  table.writeUInt32LE(offset, 4);
  for (const [index, size] of sizes.entries()) {
    offset += size;
    table.writeUInt32LE(offset, 8 + 4 * index);
  }
  return Buffer.concat([table, text]);
}
