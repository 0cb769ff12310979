/** How often a promise held, how wide it was, and how far off its median, beside the ruler that extends what has passed. */

import { type Kept, SHARES, type Shown } from './campaigns.ts';

export interface Cell {
  readonly slice: string;
  readonly share: number;
  readonly of: 'end' | 'cost';
  readonly count: number;
  /** Share of the campaigns that ended inside, with Wilson's interval at 99 %. */
  readonly holds: number;
  readonly holdsBetween: readonly [number, number];
  /** Mean width, of what happened. */
  readonly width: number;
  /** Mean error of the median, and of its size. */
  readonly bias: number;
  readonly error: number;
  /** Continuous ranked probability score, by the three quantiles that people see. */
  readonly crps: number;
  readonly naiveError: number;
}

/** @returns a row for each slice, share of the work, and end or cost; those without a promise are left out */
export function cellsOf(campaigns: readonly Kept[]): readonly Cell[] {
  const slices = new Map<string, Kept[]>([['all', [...campaigns]]]);
  for (const each of campaigns)
    for (const [name, kind] of Object.entries(each.kinds)) {
      const slice = `${name}: ${kind}`;
      slices.set(slice, [...(slices.get(slice) ?? []), each]);
    }
  return [...slices]
    .flatMap(([slice, own]) =>
      SHARES.flatMap((share) => (['end', 'cost'] as const).map((of) => cellOf(own, { slice, share, of }))),
    )
    .filter(({ count }) => count > 0);
}

interface One {
  readonly shown: Shown['seconds'];
  readonly naive: number;
  readonly happened: number;
}

function cellOf(campaigns: readonly Kept[], cell: Pick<Cell, 'slice' | 'share' | 'of'>): Cell {
  const unit = cell.of === 'end' ? 'seconds' : 'usd';
  const ones = campaigns.flatMap((each): readonly One[] => {
    const shown = each.shown.find(({ share }) => share === cell.share);
    if (shown === undefined || Number.isNaN(shown[unit].low) || !Number.isFinite(each.seconds)) return [];
    return [{ shown: shown[unit], naive: shown.naive?.[unit] ?? Number.NaN, happened: each[unit] }];
  });
  const mean = (of: (one: One) => number): number =>
    ones.reduce((sum, one) => sum + of(one), 0) / Math.max(1, ones.length);
  const holds = mean(({ shown, happened }) => (happened >= shown.low && happened <= shown.high ? 1 : 0));
  return {
    ...cell,
    count: ones.length,
    holds,
    holdsBetween: wilson(holds, ones.length),
    width: mean(({ shown, happened }) => (shown.high - shown.low) / happened),
    bias: mean(({ shown, happened }) => shown.expected / happened - 1),
    error: mean(({ shown, happened }) => Math.abs(shown.expected / happened - 1)),
    crps: mean(({ shown, happened }) => crpsOf(shown, happened) / happened),
    naiveError: mean(({ naive, happened }) => Math.abs(naive / happened - 1)),
  };
}

/** Twice the mean of the quantiles' losses; of a single number it is the error. */
function crpsOf({ low, expected, high }: Shown['seconds'], happened: number): number {
  const loss = (shown: number, quantile: number): number =>
    happened >= shown ? quantile * (happened - shown) : (1 - quantile) * (shown - happened);
  return (2 * (loss(low, 0.05) + loss(expected, 0.5) + loss(high, 0.95))) / 3;
}

/** Half a percent of a normal distribution lies above it. */
const Z = 2.576;

export function wilson(share: number, count: number): readonly [number, number] {
  if (count === 0) return [0, 1];
  const spread = Z * Math.sqrt((share * (1 - share)) / count + Z ** 2 / (4 * count ** 2));
  const middle = share + Z ** 2 / (2 * count);
  const whole = 1 + Z ** 2 / count;
  return [(middle - spread) / whole, (middle + spread) / whole];
}
