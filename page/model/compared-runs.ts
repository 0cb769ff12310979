/** Runs beside each other: what was declared differently, and their curves over a common axis. */
import { type Difference, differingFields } from '@tidewheel/kit/differences.ts';
import type { Operations } from '../../client/operations.ts';
import { type AxisName, axisOf, finite, type SeriesView } from './curve.ts';

type RunAnswer = Operations['getRun']['answer'];
type Run = Pick<RunAnswer['run'], 'declaration' | 'generations' | 'source'>;

/** Fields of the declarations, the data and the source that are not the same in all runs. */
export const differences = (runs: readonly Run[]): readonly Difference[] =>
  differingFields(
    runs.map(({ declaration, generations, source }) => ({
      ...declaration,
      generations: generations?.join(', '),
      source: source?.slice(0, 12),
    })),
  );

/** Points as x and y. Hours count from the first arrival, waiting included. */
export function pointsOf(
  series: SeriesView,
  view: Pick<RunAnswer, 'run' | 'attempts' | 'money'>,
  by: AxisName,
): [x: number[], y: number[]] {
  const { xOf } = axisOf(by, view);
  const begun = by === 'time' ? Date.parse(view.run.createdAt) / 1000 : 0;
  const scale = by === 'time' ? 3_600 : 1;
  const points = finite(series.points);
  return [points.map((point) => (xOf(point) - begun) / scale), points.map(({ value }) => value)];
}
