/**
 * Memory for small bodies, used over and over. They are given back in the order in which they were taken, so one ring of
 * bytes does: allocating each body anew leaves more garbage outside of the JavaScript heap than it collects in time.
 */
export class SlotRing {
  readonly #bytes: Buffer;
  readonly #largest: number;
  /** Below this the ring goes on into new memory only when the beginning is still in use. */
  readonly #comfortable: number;
  /** Next byte to take, and the first that is taken; equal only when nothing is. */
  #head = 0;
  #tail = 0;
  /** Ends of the slots taken, oldest first; a slot that begins at 0 has left the end of the ring unused. */
  #ends: number[] = [];
  #oldest = 0;

  /** @param bytes touched only as far as they are needed at once */
  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
    this.#largest = Math.floor(bytes / 8);
    this.#comfortable = Math.floor(bytes / 4);
  }

  /** Memory of exactly this length, or undefined when there is none free or it would be too large a share. */
  take(length: number): Buffer | undefined {
    if (length === 0 || length > this.#largest) return undefined;
    const start = this.#place(length);
    if (start === undefined) return undefined;
    this.#head = start + length;
    this.#ends.push(this.#head);
    return this.#bytes.subarray(start, this.#head);
  }

  /** Gives back the slot taken longest ago. */
  release(): void {
    const end = this.#ends[this.#oldest];
    if (end === undefined) throw new Error('a slot was given back that was never taken');
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
    if (this.#head + length <= this.#bytes.length) return this.#head;
    return fitsAtStart ? 0 : undefined;
  }
}
