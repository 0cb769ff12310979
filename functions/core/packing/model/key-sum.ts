/** Whether two sets of arrivals are the same, without holding either. */
import { hash } from 'node:crypto';

/** Of 16 bits, lowest first: one number of 128 bits, which as a bigint would cost a million allocations. */
const LANES = 8;

/**
 * An order-free digest of keys and ETags, a sum of 128 bits of each one's SHA-256: equal sums mean equal multisets. The
 * hash comes as characters, since a Buffer of its own takes twice as long as hashing.
 */
export class KeySum {
  readonly #sum = new Uint16Array(LANES);
  count = 0;

  add(key: string, etag: string): void {
    const digest = hash('sha256', `${key}\0${etag}`, 'binary');
    let carry = 0;
    for (let lane = 0; lane < LANES; lane += 1) {
      const digits = digest.charCodeAt(2 * lane) + 256 * digest.charCodeAt(2 * lane + 1);
      const sum = (this.#sum[lane] ?? 0) + digits + carry;
      this.#sum[lane] = sum;
      carry = sum >>> 16;
    }
    this.count += 1;
  }

  equals(other: KeySum): boolean {
    return this.count === other.count && this.#sum.every((value, lane) => value === other.#sum[lane]);
  }
}
