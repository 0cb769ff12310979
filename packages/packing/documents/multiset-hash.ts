/** Compares two multisets of arrivals without holding either. */
import { hash } from 'node:crypto';

/** Lanes of 16 bits, lowest first. A bigint of 128 bits would be allocated for every arrival. */
const LANES = 8;
/** Hexadecimal, of a lane. */
const DIGITS = 4;

/**
 * A digest of keys and ETags in any order: the sum of 128 bits of each SHA-256. Equal sums mean equal multisets. The
 * hash is read as characters, because allocating a Buffer takes twice as long as hashing.
 */
export class MultisetHash {
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

  /** Adds all that another one holds. */
  join(other: MultisetHash): void {
    let carry = 0;
    for (let lane = 0; lane < LANES; lane += 1) {
      const sum = (this.#sum[lane] ?? 0) + (other.#sum[lane] ?? 0) + carry;
      this.#sum[lane] = sum;
      carry = sum >>> 16;
    }
    this.count += other.count;
  }

  /** 32 hexadecimal digits. */
  get digest(): string {
    return [...this.#sum].map((value) => value.toString(16).padStart(DIGITS, '0')).join('');
  }

  /** @param digest as of another MultisetHash that held so many */
  static of(digest: string, count: number): MultisetHash {
    const made = new MultisetHash();
    made.count = count;
    for (let lane = 0; lane < LANES; lane += 1)
      made.#sum[lane] = Number.parseInt(digest.slice(lane * DIGITS, (lane + 1) * DIGITS), 16);
    return made;
  }

  equals(other: MultisetHash): boolean {
    return this.count === other.count && this.#sum.every((value, lane) => value === other.#sum[lane]);
  }
}
