/**
 * A distribution of positive numbers in bounded memory: eight buckets for each doubling, so a quantile is at most 9 %
 * too low. Two distributions can be added up.
 */
import * as z from 'zod';

const count = z.number().int().min(0);

export const distributionSchema = z.object({
  count,
  min: z.number(),
  max: z.number(),
  sum: z.number(),
  /** Number of the bucket, and how many values are in it; sorted. */
  buckets: z.array(z.tuple([z.number().int(), count])),
});
export type StoredDistribution = z.infer<typeof distributionSchema>;

const PER_DOUBLING = 8;

export class Distribution {
  #count = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;
  #sum = 0;
  readonly #buckets = new Map<number, number>();

  add(value: number): void {
    const bucket = Math.floor(Math.log2(Math.max(value, 1e-3)) * PER_DOUBLING);
    this.#put(bucket, 1);
    this.#count += 1;
    this.#sum += value;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  addAll(other: StoredDistribution): void {
    if (other.count === 0) return;
    for (const [bucket, values] of other.buckets) this.#put(bucket, values);
    this.#count += other.count;
    this.#sum += other.sum;
    this.#min = Math.min(this.#min, other.min);
    this.#max = Math.max(this.#max, other.max);
  }

  get stored(): StoredDistribution {
    const buckets = [...this.#buckets].sort(([a], [b]) => a - b);
    const min = this.#count === 0 ? 0 : this.#min;
    return { count: this.#count, min, max: this.#max, sum: this.#sum, buckets };
  }

  #put(bucket: number, values: number): void {
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + values);
  }
}

/** The value that this part of all values is below; exact for 0 and 1. */
export function quantile({ count: all, min, max, buckets }: StoredDistribution, part: number): number {
  let left = part * all;
  if (left <= 0) return min;
  for (const [bucket, values] of buckets) {
    left -= values;
    if (left <= 0) return part >= 1 ? max : Math.min(max, Math.max(min, lowerBound(bucket)));
  }
  return max;
}

/** Sizes and pixels are whole numbers. */
function lowerBound(bucket: number): number {
  const bound = 2 ** (bucket / PER_DOUBLING);
  return bound >= 8 ? Math.ceil(bound) : bound;
}
