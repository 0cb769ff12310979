/**
 * The mean of a skewed sample: Hall's transformation of Student's t removes the skewness, as resampling would, and reaches
 * tails that no affordable number of resamples does (P. Hall, On the removal of skewness by transformation, 1992).
 */
import { studentAbove, studentTail } from './distributions.ts';

/** A mean, with what says how sure it is. */
export interface MeanOf {
  readonly count: number;
  readonly mean: number;
  /** Of one value. */
  readonly deviation: number;
  readonly skewness: number;
}

/**
 * The mean per sample where samples come in groups that are not independent: each group is one value, its sum over the
 * mean size of groups.
 */
export function meanOfGroups(groups: Iterable<{ readonly sum: number; readonly size: number }>): MeanOf {
  const all = [...groups];
  const samples = all.reduce((total, { size }) => total + size, 0);
  const mean = all.reduce((total, { sum }) => total + sum, 0) / samples;
  const perGroup = samples / all.length;
  let [squares, cubes] = [0, 0];
  for (const { sum, size } of all) {
    const off = (sum - mean * size) / perGroup;
    squares += off * off;
    cubes += off * off * off;
  }
  const deviation = Math.sqrt(squares / Math.max(1, all.length - 1));
  // What rounding alone makes of values that are all the same.
  if (deviation <= 1e-12 * Math.abs(mean)) return { count: all.length, mean, deviation: 0, skewness: 0 };
  return { count: all.length, mean, deviation, skewness: cubes / all.length / deviation ** 3 };
}

/** @returns how likely a mean as high as this one is where the true one is `bound` */
export function chanceAbove({ count, mean, deviation, skewness }: MeanOf, bound: number): number {
  if (deviation === 0) return mean > bound ? 0.5 ** count : 1;
  const off = (mean - bound) / deviation;
  return studentTail(Math.sqrt(count) * straight(off, skewness, count), count - 1);
}

/** What the true mean is above, but for this chance. */
export function lowerBound({ count, mean, deviation, skewness }: MeanOf, chance: number): number {
  if (deviation === 0) return mean;
  const wanted = studentAbove(chance, count - 1) / Math.sqrt(count);
  return mean - deviation * bent(wanted, skewness, count);
}

export const mirrored = (of: MeanOf): MeanOf => ({ ...of, mean: -of.mean, skewness: -of.skewness });

const straight = (off: number, skewness: number, count: number): number =>
  off + (skewness * off ** 2) / 3 + (skewness ** 2 * off ** 3) / 27 + skewness / (6 * count);

/** The inverse of `straight`, which rises everywhere. */
function bent(wanted: number, skewness: number, count: number): number {
  if (Math.abs(skewness) < 1e-9) return wanted;
  return (3 / skewness) * (Math.cbrt(1 + skewness * (wanted - skewness / (6 * count))) - 1);
}
