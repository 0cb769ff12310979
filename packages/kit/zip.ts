/**
 * A zip archive whose bytes follow from its files alone: sorted, dated 1980, stored and not compressed, for compressors
 * differ between versions and processors. So the same files have the same hash on every machine.
 * https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
import { crc32 } from 'node:zlib';

export interface ZipFile {
  /** Relative, with slashes. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** More files, or more bytes, may need Zip64. */
const MOST_FILES = 65_534;
const LARGEST_BYTES = 2 ** 31;

const LOCAL = 0x0403_4b50;
const CENTRAL = 0x0201_4b50;
const END = 0x0605_4b50;
const VERSION = 20;
const UNIX = 3 << 8;
const NAMES_ARE_UTF8 = 0x0800;
/** 1980-01-01 00:00, the first moment that the format knows. */
const DATE = 0x0021;
/** A regular file, rw-r--r--. */
const MODE = 0o100644;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;

interface Entry {
  readonly name: Buffer;
  readonly bytes: Uint8Array;
  readonly crc: number;
  readonly offset: number;
}

/** @throws RangeError when it would need Zip64 */
export function zipOf(files: readonly ZipFile[]): Buffer {
  const total = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (files.length > MOST_FILES || total > LARGEST_BYTES)
    throw new RangeError(`${files.length} files of ${total} bytes are too much for one zip archive`);
  const named = files
    .map(({ name, bytes }) => ({ name: Buffer.from(name, 'utf8'), bytes }))
    // The order of the names' bytes: JavaScript's own comparison has another for some.
    .toSorted((one, other) => Buffer.compare(one.name, other.name));
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { name, bytes } of named) {
    const entry: Entry = { name, bytes, crc: crc32(bytes), offset };
    parts.push(localHeader(entry), name, bytes);
    directory.push(centralHeader(entry), name);
    offset += LOCAL_BYTES + name.length + bytes.length;
  }
  const directoryBytes = directory.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([...parts, ...directory, endRecord(named.length, directoryBytes, offset)]);
}

function localHeader({ name, bytes, crc }: Entry): Buffer {
  const header = Buffer.alloc(LOCAL_BYTES);
  header.writeUInt32LE(LOCAL, 0);
  header.writeUInt16LE(VERSION, 4);
  writeCommon(header, 6, { name, bytes, crc });
  return header;
}

function centralHeader({ name, bytes, crc, offset }: Entry): Buffer {
  const header = Buffer.alloc(CENTRAL_BYTES);
  header.writeUInt32LE(CENTRAL, 0);
  header.writeUInt16LE(UNIX | VERSION, 4);
  header.writeUInt16LE(VERSION, 6);
  writeCommon(header, 8, { name, bytes, crc });
  header.writeUInt32LE(MODE * 0x1_0000, 38);
  header.writeUInt32LE(offset, 42);
  return header;
}

/** What both headers say in the same order: flags, method, time, date, checksum, sizes, length of the name. */
function writeCommon(header: Buffer, at: number, { name, bytes, crc }: Omit<Entry, 'offset'>): void {
  header.writeUInt16LE(NAMES_ARE_UTF8, at);
  header.writeUInt16LE(DATE, at + 6);
  header.writeUInt32LE(crc, at + 8);
  header.writeUInt32LE(bytes.length, at + 12);
  header.writeUInt32LE(bytes.length, at + 16);
  header.writeUInt16LE(name.length, at + 20);
}

function endRecord(files: number, directoryBytes: number, offset: number): Buffer {
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(files, 8);
  end.writeUInt16LE(files, 10);
  end.writeUInt32LE(directoryBytes, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}
