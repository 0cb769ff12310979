/** Decoders of the shard formats. They share no code with the encoders. */
import { parquetReadObjects } from 'hyparquet';
import protobuf from 'protobufjs';
import { expect } from 'vitest';

export const example = protobuf
  .parse(`syntax = "proto3";
  message BytesList { repeated bytes value = 1; }
  message FloatList { repeated float value = 1 [packed = true]; }
  message Int64List { repeated int64 value = 1 [packed = true]; }
  message Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
  message Features { map<string, Feature> feature = 1; }
  message Example { Features features = 1; }`)
  .root.lookupType('Example');

export interface Feature {
  readonly bytesList?: { value: Uint8Array[] };
  readonly int64List?: { value: { toString(): string }[] };
}

export interface Decoded {
  readonly features: { readonly feature: Record<string, Feature> };
}

const slow = (bytes: Uint8Array): number => {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  const value = ~crc >>> 0;
  return (((value >>> 15) | (value << 17)) + 0xa282ead8) >>> 0;
};

/** Records of a TFRecord file, both CRCs checked bit by bit. */
export function tfrecords(file: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const length = Number(file.readBigUInt64LE(at));
    expect(file.readUInt32LE(at + 8)).toBe(slow(file.subarray(at, at + 8)));
    const data = file.subarray(at + 12, at + 12 + length);
    expect(file.readUInt32LE(at + 12 + length)).toBe(slow(data));
    records.push(data);
    at += 16 + length;
  }
  return records;
}

/** Records of a RecordIO file, joined where they were split at the magic. */
export function recordio(file: Buffer): Buffer[] {
  const records: Buffer[] = [];
  let parts: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    expect(file.readUInt32LE(at)).toBe(0xced7230a);
    const word = file.readUInt32LE(at + 4);
    const flag = word >>> 29;
    const length = word & 0x1fff_ffff;
    if (flag === 2 || flag === 3) parts.push(Buffer.from('0a23d7ce', 'hex'));
    parts.push(file.subarray(at + 8, at + 8 + length));
    if (flag === 0 || flag === 3) {
      records.push(Buffer.concat(parts));
      parts = [];
    }
    at += 8 + Math.ceil(length / 4) * 4;
  }
  return records;
}

/** The bytes of each column of an MDS sample, including columns of fixed size. */
export function mdsSamples(file: Buffer): Map<string, Buffer>[] {
  const count = file.readUInt32LE(0);
  const first = file.readUInt32LE(4);
  const config: unknown = JSON.parse(file.subarray(4 + 4 * (count + 1), first).toString());
  const { column_names: names, column_sizes: sizes } = config as {
    column_names: string[];
    column_sizes: (number | null)[];
  };
  return Array.from({ length: count }, (_, sample) => {
    const begin = file.readUInt32LE(4 + 4 * sample);
    let word = begin;
    let at = begin + 4 * sizes.filter((size) => size === null).length;
    const columns = new Map<string, Buffer>();
    for (const [index, name] of names.entries()) {
      const fixed = sizes[index];
      const size = fixed ?? file.readUInt32LE(word);
      if (fixed === null) word += 4;
      columns.set(name, file.subarray(at, at + size));
      at += size;
    }
    expect(at).toBe(file.readUInt32LE(8 + 4 * sample));
    return columns;
  });
}

/** The bytes of each column of a Parquet file's rows, by hyparquet's reader. An integer is its text. */
export async function parquetSamples(file: Buffer): Promise<Map<string, Buffer>[]> {
  const bytes = new Uint8Array(file).buffer;
  const rows = await parquetReadObjects({ file: bytes, utf8: false });
  return rows.map(
    (row) =>
      new Map(
        Object.entries(row).map(([name, value]) => [
          name,
          value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value)),
        ]),
      ),
  );
}
