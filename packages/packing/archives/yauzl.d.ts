/** What is used of yauzl, which brings no types. https://github.com/thejoshwolfe/yauzl#api */
declare module 'yauzl' {
  import type { EventEmitter } from 'node:events';
  import type { Readable } from 'node:stream';

  export class RandomAccessReader extends EventEmitter {
    _readStreamForRange(start: number, end: number): Readable;
  }

  export interface Entry {
    readonly fileName: string;
    readonly versionMadeBy: number;
    readonly compressionMethod: number;
    readonly compressedSize: number;
    readonly uncompressedSize: number;
    readonly externalFileAttributes: number;
    readonly crc32: number;
    isEncrypted(): boolean;
  }

  export interface ZipFile {
    readonly entryCount: number;
    /** Behind the last entry that was read. */
    readonly readEntryCursor: number;
    eachEntry(): AsyncIterable<Entry>;
    readLocalFileHeaderPromise(
      entry: Entry,
      options: { readonly minimal: true },
    ): Promise<{ readonly fileDataStart: number }>;
  }

  export function fromRandomAccessReaderPromise(
    reader: RandomAccessReader,
    totalSize: number,
    options: { readonly autoClose: false },
  ): Promise<ZipFile>;
}
