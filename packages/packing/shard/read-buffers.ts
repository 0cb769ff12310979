/**
 * The memory that a worker reads objects into. Small bodies lie in one ring, and larger ones in buffers that are used
 * again. Memory of their own would become garbage, up to 350 MB of it, because V8 collects late what is outside of its
 * heap.
 */

import { MOST_SPAN_BYTES } from '../arrivals/bundle-place.ts';

/**
 * Memory for small bodies, used over and over. Slots are released in the order in which they were taken, so they lie in
 * one ring of bytes. A new buffer for each body would leave garbage outside the JavaScript heap faster than it is
 * collected.
 */
export class SlotRing {
  readonly #size: number;
  /** Made at the first use: a shard of large files has no small bodies. */
  #bytes: Buffer | undefined;
  /** Bytes of the largest slot. */
  readonly largest: number;
  /** Below this position the ring goes on into fresh memory only while its beginning is in use. */
  readonly #comfortable: number;
  /** The next byte to take, and the first taken byte. They are equal only if nothing is taken. */
  #head = 0;
  #tail = 0;
  /** Ends of the taken slots, oldest first. A slot that begins at 0 has left the end of the ring unused. */
  #ends: number[] = [];
  #oldest = 0;

  /** @param bytes most memory; the process touches only as much as it needs at once */
  constructor(bytes: number) {
    this.#size = bytes;
    this.largest = Math.floor(bytes / 8);
    this.#comfortable = Math.floor(bytes / 4);
  }

  /** Memory of exactly this length; undefined if none is free, or for more than an eighth of the ring. */
  take(length: number): Buffer | undefined {
    if (length === 0 || length > this.largest) return undefined;
    const start = this.#place(length);
    if (start === undefined) return undefined;
    this.#head = start + length;
    this.#ends.push(this.#head);
    this.#bytes ??= Buffer.allocUnsafeSlow(this.#size);
    return this.#bytes.subarray(start, this.#head);
  }

  /** Releases the oldest slot. */
  release(): void {
    const end = this.#ends[this.#oldest];
    if (end === undefined) throw new Error('a slot was released that was never taken');
    this.#tail = end;
    this.#oldest += 1;
    if (this.#oldest === this.#ends.length) {
      this.#head = 0;
      this.#tail = 0;
    }
    if (this.#oldest < 1_024 && this.#oldest < this.#ends.length) return;
    this.#ends = this.#ends.slice(this.#oldest);
    this.#oldest = 0;
  }

  #place(length: number): number | undefined {
    const isEmpty = this.#oldest === this.#ends.length;
    const isWrapped = !isEmpty && this.#head <= this.#tail;
    if (isWrapped) return this.#head + length <= this.#tail ? this.#head : undefined;
    const fitsAtStart = length < this.#tail;
    const isFar = this.#head >= this.#comfortable && this.#tail >= this.#comfortable / 2;
    if (isFar && fitsAtStart) return 0;
    if (this.#head + length <= this.#size) return this.#head;
    return fitsAtStart ? 0 : undefined;
  }
}

/** Sizes of buffers: each is half as large as the one before. A body larger than the smallest is no small one. */
const SIZES = 5;

export class ReadBuffers {
  readonly #ring: SlotRing;
  readonly #largest: number;
  /** Bytes of buffers that may still be made. */
  #unmade: number;
  /** By size, the largest first. */
  readonly #idle: Buffer[][] = Array.from({ length: SIZES }, () => []);

  /** For what is read of bundles. There are only as many as a window reads at once. */
  readonly #idleSpans: Buffer[] = [];

  /**
   * @param bytes of all larger bodies at once; half as much again is for small ones
   * @param largest bytes of a body
   */
  constructor(bytes: number, largest: number) {
    this.#ring = new SlotRing(Math.floor(bytes / 2));
    this.#largest = largest;
    this.#unmade = Math.max(bytes, largest);
  }

  /** Memory of exactly this length; undefined if none is free. */
  take(length: number): Buffer | undefined {
    if (this.isSmall(length)) return this.#ring.take(length);
    if (length > MOST_SPAN_BYTES) return undefined;
    if (length > this.#largest)
      return (this.#idleSpans.pop() ?? Buffer.allocUnsafeSlow(MOST_SPAN_BYTES)).subarray(0, length);
    const size = this.#sizeOf(length);
    // The last one that was used lies in the processor's cache. Only as much as is read is ever touched.
    const buffer = this.#idle[size]?.pop() ?? this.#make(this.#bytesOf(size));
    return buffer?.subarray(0, length);
  }

  /** False for a larger body while no memory is free. */
  hasRoom(length: number): boolean {
    if (this.isSmall(length) || length > this.#largest) return true;
    const size = this.#sizeOf(length);
    if ((this.#idle[size]?.length ?? 0) > 0) return true;
    const free = this.#idle.reduce((sum, idle, each) => sum + idle.length * this.#bytesOf(each), 0);
    return this.#unmade + free >= this.#bytesOf(size);
  }

  /** Small bodies are released in the order in which they were taken. */
  release(taken: Buffer): void {
    if (this.isSmall(taken.length)) return this.#ring.release();
    if (taken.length > this.#largest) {
      this.#idleSpans.push(Buffer.from(taken.buffer, 0, MOST_SPAN_BYTES));
      return;
    }
    const size = this.#sizeOf(taken.length);
    this.#idle[size]?.push(Buffer.from(taken.buffer, 0, this.#bytesOf(size)));
  }

  /** Whether a body of this length lies in the ring. */
  isSmall(length: number): boolean {
    return length <= this.#bytesOf(SIZES - 1) / 2;
  }

  /** The smallest size that holds this length. */
  #sizeOf(length: number): number {
    let size = SIZES - 1;
    while (size > 0 && this.#bytesOf(size) < length) size -= 1;
    return size;
  }

  #bytesOf(size: number): number {
    return Math.ceil(this.#largest / 2 ** size);
  }

  /** Idle buffers of other sizes make room for a new one. */
  #make(bytes: number): Buffer | undefined {
    for (const [size, idle] of this.#idle.entries())
      while (this.#unmade < bytes && idle.pop() !== undefined) this.#unmade += this.#bytesOf(size);
    if (this.#unmade < bytes) return undefined;
    this.#unmade -= bytes;
    return Buffer.allocUnsafeSlow(bytes);
  }
}
