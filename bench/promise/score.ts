/** How often a promise held, how wide it was, and how far off its median, beside the ruler that extends what has passed. */

import { type Kept, SHARES, type Shown } from './campaigns.ts';

export interface Cell {
  readonly slice: string;
  readonly share: number;
  readonly of: 'end' | 'cost';
  /** false: nothing can show yet that the work is not that of former runs. */
  readonly isHeld: boolean;
  readonly count: number;
  /** Share of the campaigns that ended inside, with Wilson's interval at 99 %. */
  readonly holds: number;
  readonly holdsBetween: readonly [number, number];
  /** Mean width, of what happened, and the oracle's. */
  readonly width: number;
  readonly oracleWidth: number;
  /** Mean error of the median, and of its size. */
  readonly bias: number;
  readonly error: number;
  /** Continuous ranked probability score, by the three quantiles that people see; the ruler's is its error. */
  readonly crps: number;
  /** The same score for a normal distribution of that median and width. */
  readonly normalCrps: number;
  readonly naiveError: number;
}

/** Campaigns that have an oracle beside them. */
export const PLAIN = 'earlier runs, right work and scores';

/** @returns a row for each slice, share of the work, and end or cost; those without a promise are left out */
export function cellsOf(campaigns: readonly Kept[], isJudged = showsWork): readonly Cell[] {
  const slices = new Map<string, Kept[]>();
  for (const each of campaigns) {
    const kinds = Object.entries(each.kinds).map(([name, kind]) => `${name}: ${kind}`);
    for (const slice of ['all', ...kinds, ...(each.shown.some(({ oracle }) => oracle) ? [PLAIN] : [])])
      slices.set(slice, [...(slices.get(slice) ?? []), each]);
  }
  return [...slices]
    .flatMap(([slice, own]) =>
      SHARES.flatMap((share) =>
        (['end', 'cost'] as const).map((of) =>
          cellOf(
            own.filter((each) => slice.startsWith('work: ') || isJudged(each, share)),
            { slice, share, of },
          ),
        ),
      ),
    )
    .filter(({ count }) => count > 0);
}

/** From here on a run's own steps show how much work it has. */
const SHOWS_WORK = 0.25;

interface One {
  readonly shown: Shown['seconds'];
  readonly naive: number;
  readonly oracle: Shown['seconds'] | undefined;
  readonly happened: number;
}

/** Before its steps show it, nothing tells that a run's work is not that of former runs. */
const showsWork = ({ kinds }: Kept, share: number): boolean =>
  share >= SHOWS_WORK || kinds.work === 'as before' || kinds.former === 'none';

function cellOf(campaigns: readonly Kept[], cell: Pick<Cell, 'slice' | 'share' | 'of'>): Cell {
  const unit = cell.of === 'end' ? 'seconds' : 'usd';
  const isOfWork = cell.slice.startsWith('work: ');
  const ones = campaigns.flatMap((each): readonly One[] => {
    const shown = each.shown.find(({ share }) => share === cell.share);
    if (shown === undefined || Number.isNaN(shown[unit].low) || !Number.isFinite(each.seconds)) return [];
    const { naive, oracle } = shown;
    return [
      {
        shown: shown[unit],
        naive: naive?.[unit] ?? Number.NaN,
        oracle: oracle?.[unit],
        happened: each[unit],
      },
    ];
  });
  const mean = (of: (one: One) => number): number =>
    ones.reduce((sum, one) => sum + of(one), 0) / Math.max(1, ones.length);
  const holds = mean(({ shown, happened }) => (happened >= shown.low && happened <= shown.high ? 1 : 0));
  const widthOf = ({ low, high }: Shown['seconds']): number => high - low;
  return {
    ...cell,
    isHeld: cell.share >= SHOWS_WORK || !isOfWork || cell.slice === 'work: as before',
    count: ones.length,
    holds,
    holdsBetween: wilson(holds, ones.length),
    width: mean(({ shown, happened }) => widthOf(shown) / happened),
    oracleWidth: mean(({ oracle, happened }) => (oracle ? widthOf(oracle) / happened : Number.NaN)),
    bias: mean(({ shown, happened }) => shown.expected / happened - 1),
    error: mean(({ shown, happened }) => Math.abs(shown.expected / happened - 1)),
    crps: mean(({ shown, happened }) => crpsOf(shown, happened) / happened),
    normalCrps: mean(({ shown, happened }) => crpsOf(evened(shown), happened) / happened),
    naiveError: mean(({ naive, happened }) => Math.abs(naive / happened - 1)),
  };
}

const evened = ({ low, expected, high }: Shown['seconds']): Shown['seconds'] => {
  const reach = (high - low) / 2;
  return { low: expected - reach, expected, high: expected + reach };
};

const HOLDS = [0.87, 0.93] as const;
const POOLED = [0.885, 0.915] as const;
const MOST_OF_ORACLE = 1.3;
const MOST_BIAS = 0.03;

/** Every rule of the promise that these cells break, in words. */
export function brokenIn(cells: readonly Cell[]): readonly string[] {
  const held = cells.filter(({ isHeld }) => isHeld);
  const named = ({ slice, share, of }: Cell, what: string): string => `${slice}, ${of} at ${share}: ${what}`;
  return [
    ...(['end', 'cost'] as const)
      .map((of) => ({ of, holds: pooled(held, of) }))
      .filter(({ holds }) => holds < POOLED[0] || holds > POOLED[1])
      .map(({ of, holds }) => `pooled, ${of}: holds ${percent(holds)}`),
    ...held
      .filter(({ holdsBetween: [low, high] }) => low > HOLDS[1] || high < HOLDS[0])
      .map((cell) => named(cell, `holds ${percent(cell.holds)}`)),
    ...held
      .filter(({ share, error, naiveError }) => share >= SHOWS_WORK && error > naiveError)
      .map((cell) => named(cell, `error ${percent(cell.error)}, the ruler's ${percent(cell.naiveError)}`)),
    ...held
      .filter(({ width, oracleWidth }) => width > MOST_OF_ORACLE * oracleWidth)
      .map((cell) =>
        named(cell, `${(cell.width / cell.oracleWidth).toFixed(2)} times as wide as an oracle's`),
      ),
    ...held
      .filter(({ slice, bias }) => slice === PLAIN && Math.abs(bias) > MOST_BIAS)
      .map((cell) => named(cell, `bias ${percent(cell.bias)}`)),
  ];
}

/** Counts all campaigns and looks. */
export function pooled(cells: readonly Cell[], of: Cell['of']): number {
  const all = cells.filter((cell) => cell.slice === 'all' && cell.of === of);
  const count = all.reduce((sum, each) => sum + each.count, 0);
  return all.reduce((sum, each) => sum + each.count * each.holds, 0) / count;
}

export const percent = (share: number): string =>
  Number.isNaN(share) ? '-' : `${(100 * share).toFixed(1)} %`;

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
