/**
 * Finds prepared images that look alike: their dHashes differ in at most three of 64 bits. Two such hashes agree in at
 * least one of four quarters, so only hashes with an equal quarter are compared.
 */

/** dHash and half digest of one image after the other. */
export type ImageHashes = BigUint64Array;

export interface NearDuplicates {
  /** Images of the first list that look like another image of either list. */
  readonly images: number;
  /** Half digests of pairs, the first of them of the first list. */
  readonly examples: readonly (readonly [bigint, bigint])[];
  /** Some images were compared with a part of the others only, because too many look alike. */
  readonly isLowerBound: boolean;
}

const MOST_BITS = 3;
const QUARTERS = [0n, 16n, 32n, 48n] as const;
/** Images with the same quarter that one is compared with. */
const MOST_COMPARED = 64;
const MOST_EXAMPLES = 10;

function bitsIn(value: number): number {
  let bits = value - ((value >>> 1) & 0x55_55_55_55);
  bits = (bits & 0x33_33_33_33) + ((bits >>> 2) & 0x33_33_33_33);
  return Math.imul((bits + (bits >>> 4)) & 0x0f_0f_0f_0f, 0x01_01_01_01) >>> 24;
}

export function nearDuplicates(mine: ImageHashes, others: ImageHashes): NearDuplicates {
  const all = new Images(mine, others);
  const found = new Uint8Array(all.mine);
  const examples: (readonly [bigint, bigint])[] = [];
  let isLowerBound = false;
  const note = (a: number, b: number): void => {
    const news = [a, b].filter((image) => image < all.mine && found[image] === 0);
    if (news.length > 0 && examples.length < MOST_EXAMPLES) examples.push(all.pair(a, b));
    for (const image of news) found[image] = 1;
  };
  for (const quarter of QUARTERS)
    for (const group of all.groupsBy(quarter)) {
      if (group.length > MOST_COMPARED) isLowerBound = true;
      for (const [a, b] of pairsOf(group)) if (all.areNear(a, b)) note(a, b);
    }
  return { images: found.reduce((sum, one) => sum + one, 0), examples, isLowerBound };
}

/** Each with those that follow it closely. */
function* pairsOf(group: Uint32Array): Generator<readonly [number, number]> {
  for (const [at, a] of group.entries())
    for (const b of group.subarray(at + 1, at + MOST_COMPARED)) yield [a, b];
}

class Images {
  readonly mine: number;
  readonly #hashes: BigUint64Array;
  readonly #digests: BigUint64Array;
  readonly #high: Uint32Array;
  readonly #low: Uint32Array;

  constructor(mine: ImageHashes, others: ImageHashes) {
    this.mine = mine.length / 2;
    const count = this.mine + others.length / 2;
    this.#hashes = new BigUint64Array(count);
    this.#digests = new BigUint64Array(count);
    this.#high = new Uint32Array(count);
    this.#low = new Uint32Array(count);
    for (let image = 0; image < count; image += 1) {
      const [from, at] = image < this.mine ? [mine, image] : [others, image - this.mine];
      const hash = from[at * 2] ?? 0n;
      this.#hashes[image] = hash;
      this.#digests[image] = from[at * 2 + 1] ?? 0n;
      this.#high[image] = Number(hash >> 32n);
      this.#low[image] = Number(hash & 0xff_ff_ff_ffn);
    }
  }

  /** Images with the same quarter of the hash, in groups of two or more. */
  *groupsBy(shift: bigint): Generator<Uint32Array> {
    const { order, quarters } = this.#sortedBy(shift);
    for (let start = 0; start < order.length; ) {
      let end = start + 1;
      while (end < order.length && quarters[order[end] ?? 0] === quarters[order[start] ?? 0]) end += 1;
      if (end - start > 1) yield order.subarray(start, end);
      start = end;
    }
  }

  /** Leaves out a hash of zero: that of an image without any edge, such as a wall or the night. */
  #sortedBy(shift: bigint): { readonly order: Uint32Array; readonly quarters: Uint16Array } {
    const quarters = new Uint16Array(this.#hashes.length);
    // Quarter and image in one number: numbers are sorted much faster than by a function that compares.
    const numbers = new Float64Array(this.#hashes.length);
    let count = 0;
    for (const [image, hash] of this.#hashes.entries()) {
      const quarter = Number((hash >> shift) & 0xff_ffn);
      quarters[image] = quarter;
      if (hash === 0n) continue;
      numbers[count] = quarter * 2 ** 32 + image;
      count += 1;
    }
    const order = Uint32Array.from(numbers.subarray(0, count).sort(), (one) => one % 2 ** 32);
    return { order, quarters };
  }

  /** Different bytes that look alike, not both of the other list. */
  areNear(a: number, b: number): boolean {
    if (a >= this.mine && b >= this.mine) return false;
    const high = bitsIn((this.#high[a] ?? 0) ^ (this.#high[b] ?? 0));
    if (high > MOST_BITS) return false;
    const low = bitsIn((this.#low[a] ?? 0) ^ (this.#low[b] ?? 0));
    return high + low <= MOST_BITS && this.#digests[a] !== this.#digests[b];
  }

  pair(a: number, b: number): readonly [bigint, bigint] {
    const [first, second] = a < this.mine ? [a, b] : [b, a];
    return [this.#digests[first] ?? 0n, this.#digests[second] ?? 0n];
  }
}
