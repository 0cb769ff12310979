/** Runs beside each other: their curves on a common axis, and what was declared differently. */
import { type Difference, differingFields } from '../../client/differences.ts';
import type { Operations } from '../../client/operations.ts';
import { finite, type SeriesView } from './curve.ts';

export const COMPARED_BY = ['step', 'hours', 'dollars'] as const;
export type ComparedBy = (typeof COMPARED_BY)[number];

type RunAnswer = Operations['getRun']['answer'];
type Compared = Pick<RunAnswer, 'run' | 'money'>;

export interface Point {
  readonly x: number;
  readonly y: number;
}

const HOUR_MILLISECONDS = 3_600_000;

/**
 * Hours count from the first arrival, waiting included. Dollars grow with the time between the first and the last point,
 * because an answer has no cost by step.
 */
export function xOf(series: SeriesView, { run, money }: Compared, by: ComparedBy): readonly Point[] {
  const points = finite(series.points);
  const [first, last] = [points[0], points.at(-1)].map((point) => Date.parse(point?.at ?? run.createdAt));
  const length = (last ?? 0) - (first ?? 0) || 1;
  return points.map(({ position, at, value }) => {
    const time = Date.parse(at);
    switch (by) {
      case 'step':
        return { x: position, y: value };
      case 'hours':
        return { x: (time - Date.parse(run.createdAt)) / HOUR_MILLISECONDS, y: value };
      case 'dollars':
        return { x: ((time - (first ?? 0)) / length) * money.usd, y: value };
    }
  });
}

type Run = Pick<RunAnswer['run'], 'declaration' | 'generations' | 'source'>;

/** Fields of the declarations, the data and the source that are not the same in all runs. */
export const differences = (runs: readonly Run[]): readonly Difference[] =>
  differingFields(
    runs.map(({ declaration, generations, source }) => ({
      ...declaration,
      generations: generations?.join(', '),
      source,
    })),
  );
