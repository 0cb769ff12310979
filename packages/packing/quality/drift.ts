/** How a version differs from the one before: shares of classes, and medians of sizes. */
import { quantile, type StoredDistribution } from './distribution.ts';
import type { ClassRow, Shift } from './report-document.ts';
import { DISTRIBUTIONS, type Tally } from './tally.ts';

const samplesIn = ({ classes = {} }: Tally): number =>
  Object.values(classes).reduce((sum, { samples }) => sum + samples, 0);

const shareOf = (samples: number, all: number): number => (all === 0 ? 0 : samples / all);

export interface ClassCounts {
  readonly packed: Tally;
  readonly before: Tally;
  readonly now: Tally;
  /** By class, where `balance` counted what arrived. */
  readonly arrived: Readonly<Record<string, { readonly samples: number }>>;
}

/** Every class of either version; undefined if the labels are no classes. */
export function classRows({ packed, before, now, arrived }: ClassCounts): ClassRow[] | undefined {
  if (now.classes === undefined || before.classes === undefined) return undefined;
  const [allBefore, allNow] = [samplesIn(before), samplesIn(now)];
  const names = [...new Set([...Object.keys(before.classes), ...Object.keys(now.classes)])].sort();
  return names.map((name) => {
    const [was, is, own] = [countIn(before, name), countIn(now, name), countIn(packed, name)];
    return {
      name,
      ...(arrived[name] && { arrived: arrived[name].samples }),
      packed: own.samples,
      copies: own.copies,
      before: was.samples,
      now: is.samples,
      shareBefore: shareOf(was.samples, allBefore),
      shareNow: shareOf(is.samples, allNow),
    };
  });
}

const countIn = ({ classes }: Tally, name: string): { readonly samples: number; readonly copies: number } =>
  classes?.[name] ?? { samples: 0, copies: 0 };

const MOST_SHIFTS = 10;

/** Shares in percent, largest change first. Empty for the first version. */
export function classShifts(rows: readonly ClassRow[]): Shift[] {
  if (rows.every(({ before }) => before === 0)) return [];
  const shifts = rows.map(({ name, shareBefore, shareNow }) => ({
    what: name,
    before: percent(shareBefore),
    now: percent(shareNow),
  }));
  const points = ({ before, now }: Shift): number => Math.abs(now - before);
  return shifts
    .filter((shift) => points(shift) > 0)
    .sort((a, b) => points(b) - points(a) || (a.what < b.what ? -1 : 1))
    .slice(0, MOST_SHIFTS);
}

/** With one digit behind the point. */
export const percent = (share: number): number => Math.round(share * 1_000) / 10;

/** A median is only known to 9 %. */
const LEAST_CHANGE = 1.1;

export function medianShifts(before: Tally, now: Tally): Shift[] {
  return Object.entries(now.columns).flatMap(([name, column]) =>
    DISTRIBUTIONS.flatMap((measure) => {
      const [was, is] = [medianOf(before.columns[name]?.[measure]), medianOf(column[measure])];
      if (was === undefined || is === undefined || was === 0 || is === 0) return [];
      return Math.max(is / was, was / is) < LEAST_CHANGE
        ? []
        : [{ what: `${name}: ${measure}`, before: was, now: is }];
    }),
  );
}

const medianOf = (values: StoredDistribution | undefined): number | undefined =>
  values === undefined || values.count === 0 ? undefined : quantile(values, 0.5);
