/**
 * The memory that a worker reads objects into: buffers that are used again. Memory of their own would become garbage,
 * up to 350 MB of it, because V8 collects late what is outside of its heap.
 */

import { MOST_SPAN_BYTES } from '../arrivals/bundle-place.ts';

/** Sizes of buffers: each is half as large as the one before. */
const SIZES = 12;
/** A share of the largest body. Where no memory is free, a smaller body is read into memory of its own. */
const SMALL = 1 / 32;

export class ReadBuffers {
  /** The largest first. */
  readonly #sizes: readonly number[];
  readonly #largest: number;
  /** Bytes of buffers that may still be made. */
  #unmade: number;
  /** By size. */
  readonly #idle: ArrayBufferLike[][] = Array.from({ length: SIZES }, () => []);
  /** For what is read of bundles. There are only as many as a window reads at once. */
  readonly #idleSpans: ArrayBufferLike[] = [];

  /**
   * @param bytes of all bodies at once
   * @param largest bytes of a body
   */
  constructor(bytes: number, largest: number) {
    this.#sizes = Array.from({ length: SIZES }, (_, size) => Math.ceil(largest / 2 ** size));
    this.#largest = largest;
    this.#unmade = Math.max(bytes, largest);
  }

  /** Memory of exactly this length; undefined if none is free. */
  take(length: number): Buffer | undefined {
    if (length === 0 || length > MOST_SPAN_BYTES) return undefined;
    // The last one that was used lies in the processor's cache. Only as much as is read is ever touched.
    const memory =
      length > this.#largest
        ? (this.#idleSpans.pop() ?? Buffer.allocUnsafeSlow(MOST_SPAN_BYTES).buffer)
        : (this.#idle[this.#sizeOf(length)]?.pop() ?? this.#make(this.#sizeOf(length)));
    return memory && Buffer.from(memory, 0, length);
  }

  /** False for a larger body while no memory is free. */
  hasRoom(length: number): boolean {
    if (length <= SMALL * this.#largest || length > this.#largest) return true;
    const size = this.#sizeOf(length);
    if ((this.#idle[size]?.length ?? 0) > 0) return true;
    const free = this.#idle.reduce((sum, idle, each) => sum + idle.length * this.#bytesOf(each), 0);
    return this.#unmade + free >= this.#bytesOf(size);
  }

  release(taken: Buffer): void {
    const idle = taken.length > this.#largest ? this.#idleSpans : this.#idle[this.#sizeOf(taken.length)];
    idle?.push(taken.buffer);
  }

  /** The smallest size that holds this length. */
  #sizeOf(length: number): number {
    let size = SIZES - 1;
    while (size > 0 && this.#bytesOf(size) < length) size -= 1;
    return size;
  }

  #bytesOf(size: number): number {
    return this.#sizes[size] ?? this.#largest;
  }

  /** Idle buffers of other sizes make room for a new one. */
  #make(size: number): ArrayBufferLike | undefined {
    const bytes = this.#bytesOf(size);
    for (const [other, idle] of this.#idle.entries())
      while (this.#unmade < bytes && idle.pop() !== undefined) this.#unmade += this.#bytesOf(other);
    if (this.#unmade < bytes) return undefined;
    this.#unmade -= bytes;
    return Buffer.allocUnsafeSlow(bytes).buffer;
  }
}
