/**
 * Writes a shard as one gzip member. Blocks of a fixed size are deflated independently of each other: so the result
 * does not depend on the sizes of the writes, and memory is one block. Positions are those of the plain bytes.
 * https://www.rfc-editor.org/rfc/rfc1952 (no name, no time stamp, no operating system)
 */
import { constants, crc32, deflateRawSync } from 'node:zlib';
import type { ShardSink } from '../documents/shard-format.ts';

const BLOCK_BYTES = 1024 * 1024;
const LEVEL = 6;
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** An empty last block ends the deflate stream. */
const LAST_BLOCK = Buffer.from([3, 0]);

export class GzipSink implements ShardSink {
  readonly #out: ShardSink;
  readonly #block = Buffer.allocUnsafe(BLOCK_BYTES);
  #filled = 0;
  #position = 0;
  #crc = 0;
  #isBegun = false;

  constructor(out: ShardSink) {
    this.#out = out;
  }

  get position(): number {
    return this.#position;
  }

  get room(): number {
    return BLOCK_BYTES - this.#filled;
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    if (bytes.length > BLOCK_BYTES - this.#filled) return this.#writeOn(bytes);
    this.#block.set(bytes, this.#filled);
    this.#filled += bytes.length;
    this.#position += bytes.length;
    return this.#filled === BLOCK_BYTES ? this.#flush() : undefined;
  }

  async #writeOn(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const fits = Math.min(bytes.length - from, BLOCK_BYTES - this.#filled);
      this.#block.set(bytes.subarray(from, from + fits), this.#filled);
      this.#filled += fits;
      from += fits;
      if (this.#filled === BLOCK_BYTES) await this.#flush();
    }
    this.#position += bytes.length;
  }

  recent(length: number): Uint8Array | undefined {
    return length <= this.#filled ? this.#block.subarray(this.#filled - length, this.#filled) : undefined;
  }

  /** No write may follow. */
  async finish(): Promise<void> {
    await this.#flush();
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc);
    trailer.writeUInt32LE(this.#position % 2 ** 32, 4);
    await this.#out.write(Buffer.concat([LAST_BLOCK, trailer]));
  }

  async #flush(): Promise<void> {
    if (!this.#isBegun) await this.#out.write(HEADER);
    this.#isBegun = true;
    if (this.#filled === 0) return;
    const plain = this.#block.subarray(0, this.#filled);
    this.#crc = crc32(plain, this.#crc);
    await this.#out.write(deflateRawSync(plain, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH }));
    this.#filled = 0;
  }
}
