/** Files of records, framed by code that shares nothing with the encoders but the checksum. */
import { crc32c, maskedCrc32c } from '@tidewheel/packing/checksums.ts';

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
};

export function tfrecordFrame(data: Buffer): Buffer {
  const length = Buffer.concat([uint32(data.length), uint32(0)]);
  const sums = [length, data].map((bytes) => uint32(maskedCrc32c(crc32c(bytes))));
  return Buffer.concat([length, sums[0] ?? length, data, sums[1] ?? length]);
}

const MAGIC = 0xced7230a;

/** As dmlc-core splits data that has the magic number at a multiple of four. */
export function recordioFrame(data: Buffer): Buffer {
  const starts = [0];
  for (let at = 0; at + 4 <= data.length; at += 4) if (data.readUInt32LE(at) === MAGIC) starts.push(at + 4);
  const parts = starts.map((start, index) => {
    const part = data.subarray(start, (starts[index + 1] ?? data.length + 4) - 4);
    const flag = starts.length === 1 ? 0 : index === 0 ? 1 : index === starts.length - 1 ? 3 : 2;
    const head = [uint32(MAGIC), uint32(flag * 2 ** 29 + part.length)];
    return Buffer.concat([...head, part, Buffer.alloc((4 - (part.length % 4)) % 4)]);
  });
  return Buffer.concat(parts);
}
