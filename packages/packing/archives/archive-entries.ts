/** The files of a zip or tar in turn, each to be read before the next. What the formats' libraries do not check is checked here. */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createGunzip, createInflateRaw } from 'node:zlib';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { extract } from 'tar-stream';
import * as yauzl from 'yauzl';
import { ArchiveRefusedError } from './archive-bounds.ts';
import type { ArchiveBytes } from './archive-bytes.ts';

export interface ArchiveEntry {
  /** As the archive has it, with slashes. */
  readonly name: string;
  readonly size: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** @throws ArchiveRefusedError where the archive is at fault, and what the store threw where it is not */
export async function* archiveEntries(
  bytes: ArchiveBytes,
  kind: 'zip' | 'tar' | 'tgz',
): AsyncGenerator<ArchiveEntry> {
  const entries = kind === 'zip' ? zipEntries(bytes) : tarEntries(bytes, kind);
  for await (const entry of guarded(entries, bytes)) yield { ...entry, chunks: guarded(entry.chunks, bytes) };
}

async function* guarded<Item>(items: AsyncIterable<Item>, bytes: ArchiveBytes): AsyncGenerator<Item> {
  try {
    yield* items;
  } catch (error: unknown) {
    if (bytes.failure !== undefined) throw bytes.failure;
    if (error instanceof ArchiveRefusedError) throw error;
    throw damaged(`it is damaged (${messageOf(error)})`);
  }
}

const damaged = (what: string): ArchiveRefusedError => new ArchiveRefusedError('damaged', what);
const notAFile = (name: string, what: string): ArchiveRefusedError =>
  new ArchiveRefusedError('link', `${JSON.stringify(name)} in it is ${what}`);

class RangeReader extends yauzl.RandomAccessReader {
  readonly #bytes: ArchiveBytes;

  constructor(bytes: ArchiveBytes) {
    super();
    this.#bytes = bytes;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#bytes.range(start, end));
  }
}

/** Record that ends the list of files, or the one before it in an archive of many files. */
const ENDS = [0x0605_4b50, 0x0606_4b50, 0x0505_4b50];

async function* zipEntries(bytes: ArchiveBytes): AsyncGenerator<ArchiveEntry> {
  const zip = await yauzl.fromRandomAccessReaderPromise(new RangeReader(bytes), bytes.size, {
    autoClose: false,
  });
  for await (const entry of zip.eachEntry()) {
    checkZipEntry(entry);
    if (entry.fileName.endsWith('/')) continue;
    const { fileDataStart: start } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
    const raw = bytes.range(start, start + entry.compressedSize);
    const chunks = entry.compressionMethod === DEFLATED ? inflated(raw) : raw;
    yield { name: entry.fileName, size: entry.uncompressedSize, chunks: summed(chunks, entry) };
  }
  const { readEntryCursor: end } = zip;
  const signature = (await bytes.read(end, end + 4)).readUInt32LE();
  if (!ENDS.includes(signature))
    throw damaged(`its list has more files than the ${zip.entryCount} it counts`);
}

const DEFLATED = 8;
const UNIX = [3, 19];
/** S_IFMT and its values: https://man7.org/linux/man-pages/man7/inode.7.html */
const [KIND, FOLDER, FILE, LINK] = [0o170000, 0o040000, 0o100000, 0o120000];

function checkZipEntry(entry: yauzl.Entry): void {
  const { fileName: name, compressionMethod: method } = entry;
  if (entry.isEncrypted()) throw new ArchiveRefusedError('encrypted', `${JSON.stringify(name)} is encrypted`);
  if (method !== 0 && method !== DEFLATED)
    throw new ArchiveRefusedError('method', `${JSON.stringify(name)} is compressed by method ${method}`);
  const kind = UNIX.includes(entry.versionMadeBy >> 8) ? (entry.externalFileAttributes >>> 16) & KIND : 0;
  if (kind === LINK) throw notAFile(name, 'a link');
  if (kind !== 0 && kind !== FOLDER && kind !== FILE) throw notAFile(name, 'no file');
}

async function* inflated(raw: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const inflate = createInflateRaw();
  const done = pipeline(raw, inflate).catch(() => undefined);
  yield* chunksOf(inflate);
  await done;
}

async function* chunksOf(stream: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) if (chunk instanceof Uint8Array) yield chunk;
}

async function* summed(
  chunks: AsyncIterable<Uint8Array>,
  { fileName, uncompressedSize, crc32: wanted }: yauzl.Entry,
): AsyncGenerator<Uint8Array> {
  let [size, sum] = [0, 0];
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > uncompressedSize) break;
    sum = crc32(chunk, sum);
    yield chunk;
  }
  if (size !== uncompressedSize || sum !== wanted)
    throw damaged(`${JSON.stringify(fileName)} has other bytes than its checksum says`);
}

/** A tar ends with zeros. One that was cut off between two files has no other sign of it. */
const END_BYTES = 512;

async function* tarEntries(bytes: ArchiveBytes, kind: 'tar' | 'tgz'): AsyncGenerator<ArchiveEntry> {
  const files = extract();
  let failure: Error | undefined;
  const source = Readable.from(lastChecked(bytes, kind));
  const piped = kind === 'tgz' ? pipeline(source, createGunzip(), files) : pipeline(source, files);
  const done = piped.catch((error: unknown) => {
    failure = error instanceof Error ? error : new Error(messageOf(error));
    files.destroy();
  });
  for await (const entry of files) {
    const { name, type, size } = entry.header;
    if (type === 'directory') {
      entry.resume();
      continue;
    }
    if (type === 'symlink' || type === 'link') throw notAFile(name, 'a link');
    if (type !== 'file' && type !== 'contiguous-file') throw notAFile(name, 'no file');
    yield { name, size, chunks: chunksOf(entry) };
  }
  await done;
  if (failure !== undefined) throw failure;
}

async function* lastChecked(bytes: ArchiveBytes, kind: 'tar' | 'tgz'): AsyncGenerator<Uint8Array> {
  if (kind === 'tar') {
    const end = await bytes.read(Math.max(0, bytes.size - END_BYTES), bytes.size);
    if (end.length < END_BYTES || end.some((byte) => byte !== 0)) throw damaged('its end is missing');
  }
  yield* bytes.range(0, bytes.size);
}
