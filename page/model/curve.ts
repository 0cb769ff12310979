/** A series of a run as columns that a chart draws, and as the rows of its table. */

import type { Operations } from '../../client/operations.ts';

export type SeriesView = Operations['getSeries']['answer']['series'][number];
type PointView = SeriesView['points'][number];
type FinitePoint = PointView & { readonly value: number };

export type AxisOfCurve = 'time' | 'position';

/** Columns of one length, by rising x. Seconds since 1970, or positions. */
export interface CurveColumns {
  readonly x: readonly number[];
  /** null interrupts the line, undefined does not. */
  readonly kept: readonly (number | null | undefined)[];
  /** Work that was lost and done again, or is still to be. */
  readonly lost: readonly (number | undefined)[];
}

/** A script may print NaN, which no axis has. */
export const finite = (points: readonly PointView[]): readonly FinitePoint[] =>
  points.filter((point): point is FinitePoint => Number.isFinite(point.value));

export function curveColumns({ points, lost }: SeriesView, axis: AxisOfCurve): CurveColumns {
  const xOf = ({ at, position }: PointView): number => (axis === 'time' ? Date.parse(at) / 1000 : position);
  const kept = finite(points);
  // Lost work lies between two attempts in time, but beside the curve by position.
  const beside = axis === 'time' ? null : undefined;
  const rows: Row[] = [
    ...kept.map((point) => ({ x: xOf(point), kept: point.value, lost: undefined })),
    ...finite(lost).map((point) => ({ x: xOf(point), kept: beside, lost: point.value })),
    ...(axis === 'time' ? pauses(kept) : []),
  ].sort((a, b) => a.x - b.x);
  return { x: rows.map(({ x }) => x), kept: rows.map((row) => row.kept), lost: rows.map((row) => row.lost) };
}

interface Row {
  readonly x: number;
  readonly kept: number | null | undefined;
  readonly lost: number | undefined;
}

/** Between two attempts nothing was trained, so no line leads there. */
const pauses = (points: readonly FinitePoint[]): Row[] =>
  points.flatMap(({ attempt, at }, place) => {
    const next = points[place + 1];
    if (next === undefined || next.attempt === attempt) return [];
    return [{ x: (Date.parse(at) + Date.parse(next.at)) / 2_000, kept: null, lost: undefined }];
  });

/** At most `most` of them, evenly spread, for a table that a person reads. */
export function evenly<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items;
  const stride = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, place) => items[Math.round(place * stride)]).filter(
    (item) => item !== undefined,
  );
}

interface Trained {
  readonly attempt: number;
  readonly outcome?: { readonly kind: string; readonly scriptStartedAt?: string | undefined } | undefined;
}

/** Ended attempts that had begun to train, and of which no series has a point. Thinned series cannot tell. */
function attemptsWithoutPoints<T extends Trained>(
  attempts: readonly T[],
  all: readonly SeriesView[],
): readonly T[] {
  if (all.some(({ points, pointCount }) => points.length < pointCount)) return [];
  const seen = new Set(all.flatMap(({ points, lost }) => [...points, ...lost].map(({ attempt }) => attempt)));
  return attempts.filter(
    ({ attempt, outcome }) => outcome?.scriptStartedAt !== undefined && !seen.has(attempt),
  );
}

/**
 * Says what no curve shows, so that an empty place is not taken for an attempt without loss. Where another attempt printed
 * numbers, a silent one ended before its first; where none did, the script prints none that is read.
 */
export function absenceText(attempts: readonly Trained[], all: readonly SeriesView[]): string | undefined {
  const silent = attemptsWithoutPoints(attempts, all);
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
