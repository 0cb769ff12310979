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
