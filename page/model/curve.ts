/** A series of a run as columns that a chart draws, and as the rows of its table. */
import type uPlot from 'uplot';
import type { AnswerOf } from '../../client/operations.ts';
import { timeOf } from '../../client/run-view.ts';
import { shortNumber } from './format.ts';

export type SeriesView = AnswerOf<'getSeries'>['series'][number];
type PointView = SeriesView['points'][number];
type FinitePoint = PointView & { readonly value: number };

export const AXES = ['step', 'time', 'dollars'] as const;
export type AxisName = (typeof AXES)[number];

/** What all curves of a screen share. */
export interface Axis {
  readonly name: AxisName;
  /** Seconds since 1970 by time. */
  readonly xOf: (point: PointView) => number;
}

/** A script may print NaN, which no axis has. */
export const finite = (points: readonly PointView[]): readonly FinitePoint[] =>
  points.filter((point): point is FinitePoint => Number.isFinite(point.value));

type Spent = Pick<AnswerOf<'getRun'>, 'attempts' | 'money'>;

/** An attempt costs steadily from its start to its end; an open one has what the ended ones leave of the sum. */
function dollarsAt({ attempts, money }: Spent): (time: number) => number {
  const ended = attempts.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0);
  const spans = attempts.map(({ createdAt, startedAt, outcome, costUsd }) => {
    const from = Date.parse(outcome?.startedAt ?? startedAt ?? createdAt);
    const to = Math.max(from + 1, timeOf(outcome?.endedAt) ?? Date.parse(money.asOf));
    return { from, to, usd: costUsd ?? Math.max(0, money.usd - ended) };
  });
  const shareOf = (time: number, { from, to }: Readonly<Record<'from' | 'to', number>>): number =>
    Math.max(0, Math.min(1, (time - from) / (to - from)));
  return (time) => spans.reduce((sum, span) => sum + span.usd * shareOf(time, span), 0);
}

export function axisOf(name: AxisName, spent: Spent): Axis {
  if (name === 'step') return { name, xOf: ({ position }) => position };
  if (name === 'time') return { name, xOf: ({ at }) => Date.parse(at) / 1000 };
  const dollars = dollarsAt(spent);
  return { name, xOf: ({ at }) => dollars(Date.parse(at)) };
}

/** Points of a run beside other runs, as x and y. Hours count from the first arrival, waiting included. */
export function comparedPoints(
  { points }: SeriesView,
  view: Spent & Pick<AnswerOf<'getRun'>, 'run'>,
  by: AxisName,
): [x: number[], y: number[]] {
  const { xOf } = axisOf(by, view);
  const [begun, scale] = by === 'time' ? [Date.parse(view.run.createdAt) / 1000, 3_600] : [0, 1];
  const all = finite(points);
  return [all.map((point) => (xOf(point) - begun) / scale), all.map(({ value }) => value)];
}

/**
 * Of `kept`, null interrupts the line and undefined does not. `lost` is work that was done again, or is still to be; at
 * `marks` a later attempt went on.
 */
export function curveColumns({ points, lost }: SeriesView, { name, xOf }: Axis) {
  const kept = finite(points);
  // Lost work lies between two attempts in time and money, but beside the curve by position.
  const beside = name === 'step' ? undefined : null;
  const rows = [
    ...kept.map((point): Row => [xOf(point), point.value, undefined]),
    ...finite(lost).map((point): Row => [xOf(point), beside, point.value]),
    ...(name === 'time' ? pauses(kept) : []),
  ].sort(([one], [other]) => one - other);
  const later = kept.filter(({ attempt }, place) => attempt !== (kept[place - 1]?.attempt ?? attempt));
  return {
    x: rows.map(([x]) => x),
    kept: rows.map(([, value]) => value),
    lost: rows.map(([, , value]) => value),
    marks: later.map(xOf),
  };
}

type Row = readonly [x: number, kept: number | null | undefined, lost: number | undefined];

/** Between two attempts nothing was trained, so no line leads there. */
const pauses = (points: readonly FinitePoint[]): Row[] =>
  points.flatMap(({ attempt, at }, place) => {
    const next = points[place + 1];
    if (next === undefined || next.attempt === attempt) return [];
    return [[(Date.parse(at) + Date.parse(next.at)) / 2_000, null, undefined]];
  });

/** Of so few, each counts. */
export const FEW_POINTS = 20;

/** The exponential mean, which starts at the first value and not at 0. */
export function smoothed<Gap extends null | undefined = never>(
  values: readonly (number | Gap)[],
): (number | Gap)[] {
  // How much of the last value stays in the next one: the more, the more points there are.
  const inertia = Math.max(0.3, Math.min(0.9, 1 - 25 / values.length));
  let [sum, weight] = [0, 0];
  return values.map((value) => {
    if (typeof value !== 'number') return value;
    [sum, weight] = [sum * inertia + value * (1 - inertia), weight * inertia + 1 - inertia];
    return sum / weight;
  });
}

/** By their names, as functions/run/attempts/shown-metrics.ts ranks them: of other data, of training, what accompanies it. */
const KINDS: readonly RegExp[] = [
  /(^|[^a-z])(test|eval|val|valid|validation|dev)([^a-z]|$)/i,
  /loss/i,
  /^(?!.*((^|[^a-z])lr([^a-z]|$)|learning_?rate|grad|per_second|runtime|epoch))/i,
  /^/,
];

const rankOf = (name: string, leading: string | undefined): number =>
  name === leading ? -1 : KINDS.findIndex((kind) => kind.test(name));

/** Settings and measures that only accompany a training have no best. */
export const isMeasure = (name: string): boolean => rankOf(name, undefined) < KINDS.length - 1;

/** Those that say most first; of equal names the one with the most points, as a script may log to several places. */
export function leadingFirst(all: readonly SeriesView[], leading: string | undefined): readonly SeriesView[] {
  const best = new Map<string, SeriesView>();
  for (const series of all) {
    if (finite(series.points).length + finite(series.lost).length === 0) continue;
    const known = best.get(series.name);
    if (known === undefined || known.pointCount < series.pointCount) best.set(series.name, series);
  }
  return [...best.values()].sort((one, other) => rankOf(one.name, leading) - rankOf(other.name, leading));
}

/** Whether more is worse. */
const FALLS = /loss|error|perplexity|(^|[^a-z])(mae|mse|rmse|wer|cer|fid)([^a-z]|$)/i;

export const isFalling = (name: string, mode?: 'min' | 'max'): boolean =>
  mode === undefined ? FALLS.test(name) : mode === 'min';

/** undefined: it has no number */
export const bestOf = (
  { name, points }: Pick<SeriesView, 'name' | 'points'>,
  mode?: 'min' | 'max',
): FinitePoint | undefined => {
  const sign = isFalling(name, mode) ? 1 : -1;
  return finite(points).reduce<FinitePoint | undefined>(
    (best, each) => (best !== undefined && sign * best.value <= sign * each.value ? best : each),
    undefined,
  );
};

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/per_second|\/s$|throughput/i, '/s'],
  [/_ms$|milliseconds/i, 'ms'],
  [/seconds?$|runtime|_time$/i, 's'],
  [/_bytes$/i, 'B'],
];

/** A value in the unit that the name of its metric tells; most have none. */
export const unitText = (name: string, value: number): string =>
  `${shortNumber(value)}${UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? ''}`;

/** At most `most` of them, evenly spread, for a table that a person reads. */
export function evenly<T>(items: readonly T[], most: number): readonly T[] {
  const stride = Math.max(1, (items.length - 1) / (most - 1));
  return items.filter((_, place) => Math.round(Math.round(place / stride) * stride) === place);
}

export type TableCell = string | number;

const quoted = (cell: TableCell): string =>
  /[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell);

export const csvText = (rows: readonly (readonly TableCell[])[]): string =>
  rows.map((row) => `${row.map(quoted).join(',')}\n`).join('');

/**
 * Says what no curve shows, so that an empty place is not taken for an attempt without loss: of ended attempts that had begun
 * to train, and of which no series has a point. Where another attempt printed numbers, a silent one ended before its first;
 * where none did, the script prints none that is read. Thinned series cannot tell.
 */
export function absenceText(attempts: Spent['attempts'], all: readonly SeriesView[]): string | undefined {
  if (all.some(({ points, pointCount }) => points.length < pointCount)) return undefined;
  const seen = new Set(all.flatMap(({ points, lost }) => [...points, ...lost].map(({ attempt }) => attempt)));
  const silent = attempts.filter(
    ({ attempt, outcome }) => outcome?.scriptStartedAt !== undefined && !seen.has(attempt),
  );
  if (silent.length === 0) return undefined;
  const numbers = silent.map(({ attempt }) => attempt).join(', ');
  if (all.length === 0)
    return `No number was read of what the script of attempt ${numbers} printed. Lines such as "epoch 3 loss 0.12" make a curve (docs/training.md).`;
  const isLost = silent.some(({ outcome }) => outcome?.kind === 'interrupted');
  return `Attempt ${numbers} ended before its script printed a number, so no curve shows it${isLost ? ' or the work that it lost' : ''}.`;
}

/** Places of the points between two gaps: no line leads to them, so a chart marks them. */
export function lonePoints(column: readonly (number | null | undefined)[]): number[] {
  const found: number[] = [];
  let lone: number | undefined;
  let isAfterGap = true;
  column.forEach((value, place) => {
    if (value === undefined) return;
    if (value === null && lone !== undefined) found.push(lone);
    lone = value !== null && isAfterGap ? place : undefined;
    isAfterGap = value === null;
  });
  return lone === undefined ? found : [...found, lone];
}

/** What leads, as the line of a row. */
export const sparkOf = (series: SeriesView | undefined): readonly number[] =>
  smoothed<never>(finite(series?.points ?? []).map(({ value }) => value));

export type UtilisationView = AnswerOf<'getUtilisation'>;
type Measured = UtilisationView['points'][number];
type Shares = readonly [x: number, ...(number | null)[]];

/** Seconds since 1970, then CPU, GPU and waiting. null interrupts the lines: between two attempts nothing ran. */
export function columnsOfUtilisation(points: readonly Measured[]): uPlot.AlignedData {
  const rows = points.flatMap(({ at, attempt, cpuBusy, gpuBusy = null, waiting }, place): Shares[] => {
    const [x, before] = [Date.parse(at) / 1000, points[place - 1]];
    const row: Shares = [x, cpuBusy, gpuBusy, waiting];
    if (before === undefined || before.attempt === attempt) return [row];
    return [[(Date.parse(before.at) / 1000 + x) / 2, null, null, null], row];
  });
  return [rows.map(([x]) => x), ...[1, 2, 3].map((place) => rows.map((row) => row[place]))];
}

/** How much of each is in use. */
export const SHARES = ['cpuBusy', 'gpuBusy', 'waiting'] as const;

/** @returns undefined where no host has such a part */
export function meanOf(points: readonly Measured[], name: (typeof SHARES)[number]): number | undefined {
  const values = points.flatMap((point) => point[name] ?? []);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}
