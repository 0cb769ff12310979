/**
 * TFRecord files of tf.train.Example: one bytes feature for each column, sorted by name.
 * Framing: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
 */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { EncodedMember, SampleFormat, ShardEncoder, WrittenMember } from '../documents/shard-format.ts';
import { collect, copyBytes } from './copy-bytes.ts';
import { crc32c, maskedCrc32c } from './crc32c.ts';
import { integerLabel, parseIntegerLabel } from './integer-label.ts';

/** Length and its checksum before a record's data, a checksum after it. */
const FRAME_HEAD_BYTES = 12;
const FRAME_TAIL_BYTES = 4;
export const KEY_COLUMN = '__key__';

/** Unsigned LEB128. */
function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, BigInt(value));
  while (left > 0x7fn) {
    bytes.push(Number(left & 0x7fn) | 0x80);
    left >>= 7n;
  }
  bytes.push(Number(left));
  return Buffer.from(bytes);
}

const varintLength = (value: number): number => varint(value).length;

/** The bytes before a feature's value, and the size of the whole map entry. */
interface Entry {
  readonly head: Buffer;
  readonly bytes: number;
}

const tagged = (tag: number, length: number): Buffer => Buffer.concat([Buffer.of(tag), varint(length)]);

/** Map entry of a feature with one bytes value of this length. The value follows the head. */
function bytesEntry(name: string, length: number): Entry {
  const key = Buffer.from(name);
  const list = 1 + varintLength(length) + length;
  const feature = 1 + varintLength(list) + list;
  const entry = 1 + varintLength(key.length) + key.length + 1 + varintLength(feature) + feature;
  const head = Buffer.concat([
    tagged(0x0a, entry),
    tagged(0x0a, key.length),
    key,
    tagged(0x12, feature),
    tagged(0x0a, list),
    tagged(0x0a, length),
  ]);
  return { head, bytes: head.length + length };
}

/** Map entry of a feature with one int64. */
function int64Entry(name: string, value: bigint): Buffer {
  const key = Buffer.from(name);
  const packed = varint(value);
  const list = Buffer.concat([tagged(0x0a, packed.length), packed]);
  const feature = Buffer.concat([tagged(0x1a, list.length), list]);
  const entry = Buffer.concat([tagged(0x0a, key.length), key, tagged(0x12, feature.length), feature]);
  return Buffer.concat([tagged(0x0a, entry.length), entry]);
}

function frameHead(length: number): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeBigUInt64LE(BigInt(length));
  head.writeUInt32LE(maskedCrc32c(crc32c(head.subarray(0, 8))), 8);
  return head;
}

function frameTail(crc: number): Buffer {
  const tail = Buffer.alloc(FRAME_TAIL_BYTES);
  tail.writeUInt32LE(maskedCrc32c(crc));
  return tail;
}

type Part =
  | { readonly bytes: Buffer }
  | { readonly entry: Entry; readonly member: EncodedMember; readonly index: number };

async function partsOf(members: readonly EncodedMember[], integerLabels: boolean): Promise<Part[]> {
  const stem = Buffer.from(members[0]?.stem ?? '');
  const named: { name: string; part: Part }[] = [
    { name: KEY_COLUMN, part: { bytes: Buffer.concat([bytesEntry(KEY_COLUMN, stem.length).head, stem]) } },
  ];
  for (const [index, member] of members.entries()) {
    const { column: name } = member;
    if (member.isLabel && integerLabels) {
      const value = parseIntegerLabel((await collect(member.body)).toString());
      named.push({ name, part: { bytes: int64Entry(name, value) } });
    } else named.push({ name, part: { entry: bytesEntry(name, member.size), member, index } });
  }
  return named.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ part }) => part);
}

const encoder = (integerLabels: boolean): ShardEncoder => ({
  add: async (sink, _outline, members) => {
    const parts = await partsOf(members, integerLabels);
    const features = parts.reduce(
      (sum, part) => sum + ('entry' in part ? part.entry.bytes : part.bytes.length),
      0,
    );
    const head = tagged(0x0a, features);
    await sink.write(frameHead(head.length + features));
    let crc = 0;
    const put = async (bytes: Uint8Array): Promise<void> => {
      crc = crc32c(bytes, crc);
      await sink.write(bytes);
    };
    await put(head);
    const written: WrittenMember[] = members.map(() => ({ offset: sink.position, size: 0, sha256: '' }));
    for (const part of parts) {
      if ('bytes' in part) await put(part.bytes);
      else {
        await put(part.entry.head);
        const offset = sink.position;
        const sha256 = await copyBytes(sink, part.member.body, (chunk) => (crc = crc32c(chunk, crc)));
        written[part.index] = { offset, sha256 };
      }
    }
    await sink.write(frameTail(crc));
    return written;
  },
});

const isGzipped = ({ tfrecord }: PackingSettings): boolean => tfrecord?.compression === 'gzip';

export const tfrecord: SampleFormat = {
  takes: 'samples',
  suffix: (settings) => (isGzipped(settings) ? 'tfrecord.gz' : 'tfrecord'),
  isGzipped,
  order: 'column',
  largestSample: 2 ** 31 - 1024,
  labelNumber: integerLabel,
  plannedBytes: (name, size) => FRAME_HEAD_BYTES + FRAME_TAIL_BYTES + name.length + size + 32,
  encoder: ({ settings }) => encoder(settings.labelType === 'integer'),
  schema: ({ labelType }) => ({ labelType }),
  join: {
    by: 'frames',
    headBytes: FRAME_HEAD_BYTES,
    bytesAfter: (head) => Number(head.readBigUInt64LE()) + FRAME_TAIL_BYTES,
  },
};
