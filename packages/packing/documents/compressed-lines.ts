/** Holds lines compressed, so that two million arrivals fit into a Lambda's memory. */

import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

// Lines as the bytes that will be written. A long list of strings outlives V8's young heap, which copies it twice, and
// stays in the old heap until the next collection. That was a third of all bytes copied (docs/research/benchmarks.md).

const FIRST_BYTES = 4 * 1024;
/** A UTF-16 unit takes up to three bytes in UTF-8. */
const MOST_BYTES_PER_CHARACTER = 3;
const NEWLINE = 0x0a;

export class LineBuffer {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;
  #lines = 0;

  get lines(): number {
    return this.#lines;
  }

  /** All lines so far, each with its newline; valid until the next `add` or `clear`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  get length(): number {
    return this.#length;
  }

  /** @param line without its newline */
  add(line: string): void {
    const needed = this.#length + line.length * MOST_BYTES_PER_CHARACTER + 1;
    if (needed > this.#bytes.length) this.#grow(needed);
    this.#length += this.#bytes.write(line, this.#length, 'utf8');
    this.#bytes[this.#length] = NEWLINE;
    this.#length += 1;
    this.#lines += 1;
  }

  /** Keeps the memory for the next lines. */
  clear(): void {
    this.#length = 0;
    this.#lines = 0;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, needed));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** JSON leaves them as they are, but Python's `splitlines` and other readers end a line there. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** A line of a list: JSON that every reader of lines keeps whole. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value);
  return text.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const CHUNK_BYTES = 4 * 1024 * 1024;

/** Size of zlib's output pieces. Its default of 16 KB takes a tenth more time. */
const PIECE_BYTES = 1024 * 1024;
const SMALL_PIECE_BYTES = 16 * 1024;

/**
 * V8 collects everything when it holds 64 MiB outside of its heap, so a short list must not take a whole megabyte.
 * A longer output takes another piece.
 */
const pieceFor = (text: string | Uint8Array): number =>
  Math.min(PIECE_BYTES, text.length + SMALL_PIECE_BYTES);

/**
 * For sealed lists, because every tool reads gzip. The same lines give the same bytes: there is no time stamp. Level 1
 * takes a third of the time of level 6.
 */
export const compress = (text: string | Uint8Array): Buffer =>
  gzipSync(text, { level: 1, chunkSize: pieceFor(text) });

/** For the lists of a plan, which only Tidewheel reads. zstd takes a fifth of gzip's time, and less space. */
export const compressPlanned = (text: string | Uint8Array): Buffer =>
  zstdCompressSync(text, {
    params: { [constants.ZSTD_c_compressionLevel]: 1 },
    chunkSize: pieceFor(text),
  });

/** https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1 */
const ZSTD_MAGIC = 0xfd2fb528;

export function decompress(bytes: Uint8Array): string {
  const isZstd =
    bytes.length >= 4 && Buffer.from(bytes.buffer, bytes.byteOffset, 4).readUInt32LE() === ZSTD_MAGIC;
  // Lines shrink to a tenth or so. A short list, of which there are many, gets no piece of a whole megabyte.
  const chunkSize = Math.max(SMALL_PIECE_BYTES, Math.min(PIECE_BYTES, 8 * bytes.length));
  const plain = isZstd ? zstdDecompressSync(bytes, { chunkSize }) : gunzipSync(bytes, { chunkSize });
  return plain.toString('utf8');
}

/** The same for a stored list that may be damaged: nothing, which has the digest of no list that was sealed. */
export function readableText(bytes: Uint8Array): string {
  try {
    return decompress(bytes);
  } catch {
    return '';
  }
}

/** Lines in the order they were added. */
export class CompressedLines {
  readonly #parts: Buffer[] = [];
  readonly #compress: (text: Uint8Array) => Buffer;
  #pending = new LineBuffer();
  #pendingLength = 0;
  #lines = 0;
  #characters = 0;

  constructor(compressWith: (text: Uint8Array) => Buffer = compressPlanned) {
    this.#compress = compressWith;
  }

  /** Length of all lines. */
  get characters(): number {
    return this.#characters;
  }

  get lines(): number {
    return this.#lines;
  }

  add(line: string): void {
    this.#pending.add(line);
    this.#lines += 1;
    this.#pendingLength += line.length + 1;
    this.#characters += line.length + 1;
    if (this.#pendingLength >= CHUNK_BYTES) this.#flush();
  }

  /** The compressed parts, each a whole number of lines. */
  parts(): readonly Buffer[] {
    this.#flush();
    this.#pending = new LineBuffer();
    return this.#parts;
  }

  *read(): Generator<string> {
    for (const part of this.parts()) yield* linesOf(decompress(part));
  }

  #flush(): void {
    if (this.#pending.lines === 0) return;
    this.#parts.push(this.#compress(this.#pending.bytes));
    this.#pending.clear();
    this.#pendingLength = 0;
  }
}

/** Lines of a text that ends with a newline. */
export function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start);
    if (end < 0) throw new SyntaxError('a list of lines does not end with a newline: it was cut off');
    yield text.slice(start, end);
    start = end + 1;
  }
}
