/** A series of a run as columns that a chart draws, and as the rows of its table. */

/** The part of an answer of `GET /runs/{runId}/series` that is drawn. */
export interface SeriesView {
  readonly name: string;
  readonly source?: string;
  readonly unit: string;
  readonly points: readonly PointView[];
  readonly lost: readonly PointView[];
  readonly pointCount?: number;
}
export interface PointView {
  readonly position: number;
  readonly value: number;
  readonly at: string;
  readonly attempt: number;
}

export type AxisOfCurve = 'time' | 'position';

/** Columns of one length, by rising x. Seconds since 1970, or positions. */
export interface Columns {
  readonly x: readonly number[];
  readonly kept: readonly (number | null)[];
  /** Work that was lost and done again, or is still to be. */
  readonly lost: readonly (number | null)[];
}

/** A script may print NaN, which no axis has. */
export const finite = (points: readonly PointView[]): readonly PointView[] =>
  points.filter(({ value }) => Number.isFinite(value));

export function columnsOf({ points, lost }: SeriesView, axis: AxisOfCurve): Columns {
  const xOf = ({ at, position }: PointView): number => (axis === 'time' ? Date.parse(at) / 1000 : position);
  const rows = [
    ...finite(points).map((point) => ({ x: xOf(point), value: point.value, isLost: false })),
    ...finite(lost).map((point) => ({ x: xOf(point), value: point.value, isLost: true })),
  ].sort((a, b) => a.x - b.x);
  return {
    x: rows.map(({ x }) => x),
    kept: rows.map(({ value, isLost }) => (isLost ? null : value)),
    lost: rows.map(({ value, isLost }) => (isLost ? value : null)),
  };
}

/** At most `most` of them, evenly spread, for a table that a person reads. */
export function evenly<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items;
  const stride = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, place) => items[Math.round(place * stride)]).filter(
    (item) => item !== undefined,
  );
}
