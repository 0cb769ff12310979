/** Reads one version of an archive by ranges, in blocks that it keeps for a while: a zip lists its files at its end. */

import { buffer } from 'node:stream/consumers';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { type BlobReader, joinChunks } from '../documents/blob-store.ts';
import type { ArchiveObject } from './archive-notes.ts';

const BLOCK_BYTES = 8 * 1024 * 1024;
/** The one that is read and the next, of the files and of their list. */
const BLOCKS_KEPT = 5;

/** The archive was replaced or deleted while it was read. */
export class ArchiveChangedError extends Error {
  override readonly name = 'ArchiveChangedError';
}

export class ArchiveBytes {
  readonly #store: BlobReader;
  readonly #archive: ArchiveObject;
  readonly #blocks = new Map<number, Promise<Uint8Array>>();
  /** Why the store did not answer, so that no reader takes this for damage. */
  failure: Error | undefined;

  constructor(store: BlobReader, archive: ArchiveObject) {
    this.#store = store;
    this.#archive = archive;
  }

  get size(): number {
    return this.#archive.size;
  }

  async *range(start: number, end: number): AsyncGenerator<Uint8Array> {
    for (let at = start; at < Math.min(end, this.size); ) {
      const number = Math.floor(at / BLOCK_BYTES);
      const block = this.#block(number);
      if (number * BLOCK_BYTES + BLOCK_BYTES < end) this.#block(number + 1).catch(() => undefined);
      const from = at - number * BLOCK_BYTES;
      const bytes = (await block).subarray(from, from + end - at);
      yield bytes;
      at += bytes.length;
    }
  }

  async read(start: number, end: number): Promise<Buffer> {
    return buffer(this.range(start, end));
  }

  #block(number: number): Promise<Uint8Array> {
    const known = this.#blocks.get(number);
    const block = known ?? this.#get(number * BLOCK_BYTES);
    this.#blocks.delete(number);
    this.#blocks.set(number, block);
    for (const oldest of this.#blocks.keys())
      if (this.#blocks.size > BLOCKS_KEPT) this.#blocks.delete(oldest);
    return block;
  }

  async #get(offset: number): Promise<Uint8Array> {
    try {
      const { key, etag, size } = this.#archive;
      const range = { offset, length: Math.min(BLOCK_BYTES, size - offset) };
      const read = await this.#store.get(key, { ...(etag !== '' && { ifMatch: etag }), range });
      if (read.kind !== 'found') throw new ArchiveChangedError(`${key} is ${read.kind}`);
      return joinChunks(read.chunks);
    } catch (error: unknown) {
      this.failure ??= error instanceof Error ? error : new Error(messageOf(error));
      throw error;
    }
  }
}
