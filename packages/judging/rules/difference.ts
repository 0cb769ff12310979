/** The difference of two models on the samples that both were scored on, and how sure it is. */
import { coinTail } from '../statistics/distributions.ts';
import { chanceAbove, lowerBound, type MeanOf, meanOfGroups, mirrored } from '../statistics/skewed-mean.ts';

/** One sample that both models were scored on. */
export interface Pair {
  readonly key: string;
  readonly candidate: number;
  readonly current: number;
  /** Samples of one group are not independent of each other. */
  readonly group?: string | undefined;
  readonly label?: string | undefined;
}

export type Mode = 'max' | 'min';

/** mcnemar: each score is right or wrong (1 or 0), and no group ties samples; mean: everything else. */
type TestKind = 'mcnemar' | 'mean';

export interface Difference {
  readonly test: TestKind;
  readonly pairs: number;
  /** As many as `pairs` where nothing ties samples. */
  readonly groups: number;
  readonly candidate: number;
  readonly current: number;
  /** Positive where the candidate is better, whatever the mode. */
  readonly better: number;
  /** At 95 %. */
  readonly interval: readonly [number, number];
  /** How likely a candidate that is better by the margin at most looks as good as this one. */
  readonly chance: number;
  /** How likely one that is better by more than the margin looks as bad. */
  readonly chanceWorse: number;
  readonly deviation: number;
}

/** A mean of fewer says nothing of its own tails. */
export const FEWEST_GROUPS = 20;

/** @param margin in the units of the metric, above which a difference counts; negative where a loss is allowed */
export function compare(pairs: readonly Pair[], mode: Mode, margin: number): Difference {
  const sign = mode === 'max' ? 1 : -1;
  const of = meanOfGroups(groupsOf(pairs, sign));
  const isExact = margin === 0 && of.count === pairs.length && pairs.every(isRightOrWrong);
  const chances = isExact ? coinChances(pairs, sign) : meanChances(of, margin);
  return {
    ...chances,
    test: isExact ? 'mcnemar' : 'mean',
    pairs: pairs.length,
    groups: of.count,
    candidate: meanBy(pairs, ({ candidate }) => candidate),
    current: meanBy(pairs, ({ current }) => current),
    better: of.mean,
    interval: [lowerBound(of, 0.025), -lowerBound(mirrored(of), 0.025)],
    deviation: of.deviation,
  };
}

function groupsOf(pairs: readonly Pair[], sign: number) {
  const groups = new Map<string, { sum: number; size: number }>();
  for (const { key, group, candidate, current } of pairs) {
    // A key is no name of a group.
    const name = group === undefined ? `key ${key}` : `group ${group}`;
    const known = groups.get(name) ?? { sum: 0, size: 0 };
    groups.set(name, { sum: known.sum + sign * (candidate - current), size: known.size + 1 });
  }
  return groups.values();
}

const isBit = (value: number) => value === 0 || value === 1;
const isRightOrWrong = ({ candidate, current }: Pair) => isBit(candidate) && isBit(current);

/** McNemar's exact test: of the samples on which the models differ, equal ones win each half of the time. */
function coinChances(pairs: readonly Pair[], sign: number) {
  const wins = pairs.filter(({ candidate, current }) => sign * (candidate - current) > 0).length;
  const losses = pairs.filter(({ candidate, current }) => sign * (candidate - current) < 0).length;
  return { chance: coinTail(wins, wins + losses), chanceWorse: coinTail(losses, wins + losses) };
}

function meanChances(of: MeanOf, margin: number) {
  if (of.count < FEWEST_GROUPS) return { chance: 1, chanceWorse: 1 };
  return { chance: chanceAbove(of, margin), chanceWorse: chanceAbove(mirrored(of), -margin) };
}

const meanBy = (pairs: readonly Pair[], value: (pair: Pair) => number): number =>
  pairs.reduce((sum, pair) => sum + value(pair), 0) / pairs.length;

/** Of samples that are right or wrong. */
export interface Sides {
  /** Wrong by the model in use, right by the candidate. */
  readonly gained: number;
  readonly lost: number;
}

export interface LabelMeans {
  readonly label: string;
  readonly samples: number;
  readonly candidate: number;
  readonly current: number;
}

const MOST_LABELS = 50;
const MOST_EXAMPLES = 10;

const gainOf = ({ candidate, current }: Pair, mode: Mode): number =>
  mode === 'max' ? candidate - current : current - candidate;

export function sidesOf(pairs: readonly Pair[], mode: Mode): { readonly sides?: Sides } {
  if (!pairs.every(isRightOrWrong)) return {};
  return {
    sides: {
      gained: pairs.filter((pair) => gainOf(pair, mode) > 0).length,
      lost: pairs.filter((pair) => gainOf(pair, mode) < 0).length,
    },
  };
}

/** @returns the classes with most samples, and both means of each */
export function meansByLabel(pairs: readonly Pair[]): LabelMeans[] {
  const sums = new Map<string, { samples: number; candidate: number; current: number }>();
  for (const { label, candidate, current } of pairs) {
    if (label === undefined) continue;
    const known = sums.get(label) ?? { samples: 0, candidate: 0, current: 0 };
    sums.set(label, {
      samples: known.samples + 1,
      candidate: known.candidate + candidate,
      current: known.current + current,
    });
  }
  return [...sums]
    .map(([label, { samples, candidate, current }]) => ({
      label,
      samples,
      candidate: candidate / samples,
      current: current / samples,
    }))
    .toSorted((a, b) => b.samples - a.samples || (a.label < b.label ? -1 : 1))
    .slice(0, MOST_LABELS);
}

/** Samples on which the candidate is worse, the greatest loss first. */
export const worstOf = (pairs: readonly Pair[], mode: Mode): Pair[] =>
  pairs
    .filter((pair) => gainOf(pair, mode) < 0)
    .toSorted((a, b) => gainOf(a, mode) - gainOf(b, mode) || (a.key < b.key ? -1 : 1))
    .slice(0, MOST_EXAMPLES);
