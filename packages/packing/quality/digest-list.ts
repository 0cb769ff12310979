/**
 * Sorted lists of 64-bit numbers: the first half of each sample's SHA-256, or pairs of a perceptual hash and such a half.
 * Of a hundred million different samples, one pair in three thousand such datasets would count as equal by chance.
 */

/** Grows by doubling. */
export class NumberList {
  #all = new BigUint64Array(1_024);
  #length = 0;

  push(value: bigint): void {
    if (this.#length === this.#all.length) {
      const more = new BigUint64Array(this.#all.length * 2);
      more.set(this.#all);
      this.#all = more;
    }
    this.#all[this.#length] = value;
    this.#length += 1;
  }

  get values(): BigUint64Array {
    return this.#all.subarray(0, this.#length);
  }

  sorted(): BigUint64Array {
    return this.values.slice().sort();
  }
}

/** The first 16 of these hexadecimal digits as a number. */
export const halfOf = (hexadecimal: string): bigint => BigInt(`0x${hexadecimal.slice(0, 16)}`);
export const digitsOf = (half: bigint): string => half.toString(16).padStart(16, '0');

/** Little-endian, whatever the machine. */
export function encodeNumbers(values: BigUint64Array): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 8);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(value, index * 8);
  return bytes;
}

export function decodeNumbers(bytes: Uint8Array): BigUint64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new BigUint64Array(Math.floor(bytes.byteLength / 8));
  for (let index = 0; index < values.length; index += 1) values[index] = view.getBigUint64(index * 8, true);
  return values;
}

/** Numbers that occur more than once in a sorted list, and how many further times they do. */
export function repeatedIn(sorted: BigUint64Array): { readonly numbers: bigint[]; readonly further: number } {
  const numbers: bigint[] = [];
  let further = 0;
  for (let index = 1; index < sorted.length; index += 1) {
    const value = sorted[index];
    if (value === undefined || value !== sorted[index - 1]) continue;
    further += 1;
    if (numbers.at(-1) !== value) numbers.push(value);
  }
  return { numbers, further };
}

/** Numbers that both sorted lists have, each once, and how many entries of the first list they are. */
export function commonOf(
  mine: BigUint64Array,
  others: BigUint64Array,
): { readonly numbers: bigint[]; readonly entries: number } {
  const numbers: bigint[] = [];
  let entries = 0;
  for (let here = 0, there = 0; here < mine.length; here += 1) {
    const value = mine[here] ?? 0n;
    while (there < others.length && (others[there] ?? 0n) < value) there += 1;
    if (there >= others.length) break;
    if (others[there] !== value) continue;
    entries += 1;
    if (numbers.at(-1) !== value) numbers.push(value);
  }
  return { numbers, entries };
}
