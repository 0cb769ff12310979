/** What Pipe mode does to an object's bytes. */
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** MXNet's RecordIO: a magic number, the length, the bytes, padding to four. */
const MAGIC = 0xced7230a;

/**
 * One object as one record, as RecordWrapperType RecordIO asks for. Not split where the magic number occurs inside:
 * https://mxnet.apache.org/versions/1.9.1/api/architecture/note_data_loading
 */
export function recordIoFrame(bytes: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(MAGIC, 0);
  header.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([header, bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}

/** The unpacked bytes of a gzip stream; an error of the source is one of the result. */
export function decoded(source: Readable): Readable {
  const unzip = createGunzip();
  source.on('error', (error) => unzip.destroy(error));
  return source.pipe(unzip);
}
