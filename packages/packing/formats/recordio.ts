/**
 * MXNet's RecordIO with image headers (IRHeader). A record is split where its data holds the magic number, so that
 * readers can find the next record from anywhere.
 * https://mxnet.apache.org/versions/1.9.1/api/architecture/note_data_loading
 */
import { hash } from 'node:crypto';
import { LineBuffer } from '../documents/compressed-lines.ts';
import type { MemberLine } from '../documents/documents.ts';
import {
  type EncodedMember,
  type Outline,
  type SampleFormat,
  type SampleLines,
  type ShardEncoder,
  type ShardIndex,
  UnfitSampleError,
  type WrittenMember,
} from '../documents/shard-format.ts';
import { collect } from './copy-bytes.ts';

const MAGIC = Buffer.from([0x0a, 0x23, 0xd7, 0xce]);
const LENGTH_BITS = 29;
const IR_HEADER_BYTES = 24;
/** Bytes of frame and image header before the data of an unsplit record. */
const RECORD_HEAD_BYTES = 8 + IR_HEADER_BYTES;

/** Positions of the magic at multiples of four. */
function splitPoints(data: Buffer): number[] {
  const points: number[] = [];
  for (let at = data.indexOf(MAGIC); at >= 0; at = data.indexOf(MAGIC, at)) {
    if (at % 4 === 0) {
      points.push(at);
      at += 4;
    } else at += 1;
  }
  return points;
}

function framed(flag: number, data: Buffer): Buffer {
  const record = Buffer.alloc(8 + Math.ceil(data.length / 4) * 4);
  MAGIC.copy(record);
  record.writeUInt32LE(((flag << LENGTH_BITS) | data.length) >>> 0, 4);
  data.copy(record, 8);
  return record;
}

/** One record, split at each magic. The magics themselves are left out; readers put them back. */
function recordIoRecord(data: Buffer): Buffer {
  const points = splitPoints(data);
  if (points.length === 0) return framed(0, data);
  const starts = [0, ...points.map((point) => point + 4)];
  const ends = [...points, data.length];
  const flagOf = (index: number): number => (index === 0 ? 1 : index === starts.length - 1 ? 3 : 2);
  return Buffer.concat(
    starts.map((start, index) => framed(flagOf(index), data.subarray(start, ends[index]))),
  );
}

/** IRHeader with one scalar label. */
function irHeader(label: number, id: number): Buffer {
  const header = Buffer.alloc(IR_HEADER_BYTES);
  header.writeFloatLE(label, 4);
  header.writeBigUInt64LE(BigInt(id), 8);
  return header;
}

const dataMembers = (outline: Outline) => outline.members.filter(({ isLabel }) => !isLabel);

async function labelOf(label: EncodedMember | undefined): Promise<number> {
  if (label === undefined) return 0;
  const value = floatOf((await collect(label.body)).toString());
  if (value === undefined) throw new UnfitSampleError('labelNotANumber');
  return value;
}

function floatOf(label: string): number | undefined {
  const text = label.trim();
  const value = Math.fround(Number(text));
  return text !== '' && Number.isFinite(value) ? value : undefined;
}

const encoder: ShardEncoder = {
  add: async (sink, outline, members) => {
    const bodies = await Promise.all(
      members.filter(({ isLabel }) => !isLabel).map(({ body }) => collect(body)),
    );
    const [body] = bodies;
    if (body === undefined) throw new UnfitSampleError('columnsDiffer');
    const label = await labelOf(members.find(({ isLabel }) => isLabel));
    const start = sink.position;
    await sink.write(recordIoRecord(Buffer.concat([irHeader(label, outline.ordinal), body])));
    return members.map((member): WrittenMember => {
      if (member.isLabel) return { offset: start + 12, size: 4, sha256: '' };
      return { offset: start + RECORD_HEAD_BYTES, sha256: hash('sha256', body) };
    });
  },
};

const startOf = (sample: SampleLines): number =>
  (sample.find(({ column }) => column !== 'label')?.offset ?? 0) - RECORD_HEAD_BYTES;

/** MXNet's index: number of the record, a tab, its first byte. */
class RecordIndex implements ShardIndex {
  readonly #rows = new LineBuffer();

  add({ column, offset }: MemberLine): void {
    if (column !== 'label') this.#rows.add(`${this.#rows.lines}\t${offset - RECORD_HEAD_BYTES}`);
  }

  body(): Uint8Array {
    return this.#rows.bytes;
  }
}

export const recordio: SampleFormat = {
  takes: 'samples',
  suffix: () => 'rec',
  order: 'column',
  largestSample: 64e6,
  labelNumber: (label) => floatOf(label)?.toString(),
  plannedBytes: (_name, size) => RECORD_HEAD_BYTES + size + 3,
  refuses: (outline) => (dataMembers(outline).length === 1 ? undefined : 'columnsDiffer'),
  encoder: () => encoder,
  schema: () => ({}),
  join: { by: 'memberList', extents: (samples, shardBytes) => [...samples.map(startOf), shardBytes] },
  shardIndex: () => new RecordIndex(),
};
