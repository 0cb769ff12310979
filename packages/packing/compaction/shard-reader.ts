/**
 * Reads one sealed shard from its first byte to its last, one piece ahead, and checks that it is the sealed one. Two
 * buffers hold the pieces in turn: the next chunk may overwrite the one before, so who keeps a chunk copies it.
 */
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { BlobStore, GetResult } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { SumCheck } from '../formats/running-sum.ts';

/** A shard to be joined was damaged, replaced or pruned. The dataset is not changed. */
export class CompactionAbandonedError extends Error {
  override readonly name = 'CompactionAbandonedError';
  constructor(generation: string, reason: string, options?: ErrorOptions) {
    super(`the compaction ${generation} stops: ${reason}. The dataset stays as it is`, options);
  }
}

export interface ReadShard {
  readonly key: string;
  readonly shard: Manifest['shards'][number];
  readonly isGzipped: boolean;
  readonly pieceBytes: number;
  /** Name of the joined generation, for errors. */
  readonly compaction: string;
}

export class ShardReader {
  readonly #plain: AsyncIterator<Uint8Array>;
  readonly #what: ReadShard;
  #chunk: Uint8Array = new Uint8Array();
  readonly #sum: SumCheck;
  #position: number;

  /** @param start the first byte that is wanted. From any but byte 0 on, `finish` must not be called */
  constructor(store: BlobStore, what: ReadShard, start = 0) {
    this.#what = what;
    this.#sum = new SumCheck(what.shard);
    this.#position = start;
    // A gzip file can be read from its beginning only.
    this.#plain = what.isGzipped
      ? without(start, unzipped(this.#stored(store, 0)))
      : this.#stored(store, start);
  }

  /** Of the next uncompressed byte. */
  get position(): number {
    return this.#position;
  }

  /** The next `length` uncompressed bytes, in chunks. */
  async *take(length: number): AsyncGenerator<Uint8Array> {
    for (let left = length; left > 0; ) {
      if (this.#chunk.length === 0) await this.#fill();
      const chunk = this.#chunk.subarray(0, left);
      this.#chunk = this.#chunk.subarray(chunk.length);
      left -= chunk.length;
      this.#position += chunk.length;
      yield chunk;
    }
  }

  async skip(length: number): Promise<void> {
    for await (const chunk of this.take(length)) void chunk;
  }

  async bytes(length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    let filled = 0;
    for await (const chunk of this.take(length)) {
      bytes.set(chunk, filled);
      filled += chunk.length;
    }
    return bytes;
  }

  /** Reads the rest (a trailer) and compares the checksum of the whole shard. */
  async finish(): Promise<void> {
    for (let next = await this.#plain.next(); next.done !== true; next = await this.#plain.next()) void next;
    if (this.#sum.problem !== undefined) throw this.#fault(this.#sum.problem);
  }

  /** Stops reading. */
  async close(): Promise<void> {
    await this.#plain.return?.();
  }

  async #fill(): Promise<void> {
    const next = await this.#plain.next();
    if (next.done === true) throw this.#fault('ends before the last sample of its list');
    this.#chunk = next.value;
  }

  async *#stored(store: BlobStore, start: number): AsyncGenerator<Uint8Array> {
    const { shard, key, pieceBytes } = this.#what;
    const buffers: Buffer[] = [];
    const get = (offset: number): Promise<GetResult> | undefined => {
      if (offset >= shard.bytes) return undefined;
      const range = { offset, length: Math.min(pieceBytes, shard.bytes - offset) };
      const buffer = buffers.length < 2 ? Buffer.allocUnsafeSlow(range.length) : buffers.shift();
      if (buffer !== undefined) buffers.push(buffer);
      const read = store.get(key, { ifMatch: shard.etag, range, into: buffer?.subarray(0, range.length) });
      // It is awaited when its turn comes. Node must not take its failure for an unhandled one until then.
      read.catch(() => undefined);
      return read;
    };
    let ahead = get(start);
    for (let offset = start; ahead !== undefined; ) {
      const found = await ahead;
      if (found.kind !== 'found')
        throw this.#fault(found.kind === 'missing' ? 'is missing' : 'is not the object that was sealed');
      offset += found.size;
      ahead = get(offset);
      for (const chunk of found.chunks) {
        this.#sum.add(chunk);
        yield chunk;
      }
    }
  }

  #fault(what: string): CompactionAbandonedError {
    return new CompactionAbandonedError(this.#what.compaction, `${this.#what.key} ${what}`);
  }
}

const ZIPPED_BYTES = 64 * 1024;

/** Copies of the bytes, because a stream holds several while the memory of a piece is used again. */
async function* copied(stored: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of stored)
    for (let at = 0; at < chunk.length; at += ZIPPED_BYTES)
      yield Uint8Array.prototype.slice.call(chunk, at, at + ZIPPED_BYTES);
}

async function* without(bytes: number, all: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of all) {
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}

/** Fails if the source fails. */
async function* unzipped(stored: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const plain = new PassThrough();
  const done = pipeline(Readable.from(copied(stored)), createGunzip({ chunkSize: ZIPPED_BYTES }), plain);
  done.catch(() => undefined);
  for await (const chunk of plain as AsyncIterable<Buffer>) yield chunk;
  await done;
}

/** The bytes of one sample, which are written more than once. Read like a ShardReader. */
export class BufferedBytes {
  readonly #bytes: Buffer;
  readonly #start: number;
  #at = 0;

  /** @param start position of the first byte in the old shard */
  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes;
    this.#start = start;
  }

  get position(): number {
    return this.#start + this.#at;
  }

  async *take(length: number): AsyncGenerator<Uint8Array> {
    yield await this.bytes(length);
  }

  async skip(length: number): Promise<void> {
    await this.bytes(length);
  }

  bytes(length: number): Promise<Buffer> {
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += taken.length;
    return Promise.resolve(taken);
  }

  /** The shard's own reader compares its checksum. */
  finish(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
