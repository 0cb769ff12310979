/** Curves of runs beside each other, over a common axis. */
import type { Operations } from '../../client/operations.ts';
import { type AxisName, axisOf, finite, type SeriesView } from './curve.ts';

type RunAnswer = Operations['getRun']['answer'];

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
