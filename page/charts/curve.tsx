/** One curve over all attempts; what an interruption lost is dotted beside it. */
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import { type AxisOfCurve, curveColumns, evenly, finite, type SeriesView } from '../model/curve.ts';
import { shortNumber, timeText } from '../model/format.ts';
import { Numbers, numbers, Table } from '../parts/table.tsx';
import type { Range } from './life-line.tsx';
import { Plot } from './plot.tsx';

const MOST_ROWS = 200;

interface CurveProps {
  readonly series: SeriesView;
  readonly axis: AxisOfCurve;
  /** Of time; with positions the curve shows all. */
  readonly range: Range;
  /** The reader has marked a part of the axis. */
  readonly onRange: (range: Range) => void;
}

const LINES = [
  { label: 'kept', colour: '--spot' },
  { label: 'lost', colour: '--bad', isDotted: true },
] as const;

export function Curve({ series, axis, range, onRange }: CurveProps) {
  const { name, unit } = series;
  const data = useMemo((): uPlot.AlignedData => {
    const { x, kept, lost } = curveColumns(series, axis);
    return [[...x], [...kept], [...lost]];
  }, [series, axis]);
  return (
    <figure class="curve-figure">
      <figcaption>
        <h2>{name}</h2>
        <span class="quiet">{summaryOf(series)}</span>
      </figcaption>
      <Plot
        label={`${name} by ${axis === 'time' ? 'time' : unit}`}
        axis={axis}
        range={range}
        onRange={onRange}
        lines={LINES}
        data={data}
        valueText={shortNumber}
      />
      <Numbers id={`numbers-${name}`}>{() => <PointsTable series={series} />}</Numbers>
    </figure>
  );
}

function summaryOf({ points, unit }: SeriesView): string {
  const values = finite(points);
  const last = values.at(-1);
  if (last === undefined) return 'no number yet';
  let [low, high] = [last.value, last.value];
  for (const { value } of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const end = points.at(-1)?.value === null ? 'no number at its end; before, ' : '';
  return `${end}${shortNumber(last.value)} at ${unit} ${last.position}; ${shortNumber(low)} to ${shortNumber(high)}`;
}

function PointsTable({ series: { name, unit, points, lost } }: { readonly series: SeriesView }) {
  const kept = evenly(points, MOST_ROWS);
  const rows = [
    ...kept.map((point) => ({ ...point, state: '' })),
    ...evenly(lost, MOST_ROWS).map((point) => ({ ...point, state: 'lost' })),
  ];
  return (
    <>
      {kept.length < points.length && (
        <p class="quiet">
          {kept.length} of {points.length} points, evenly spread.
        </p>
      )}
      <Table
        caption={`numbers of ${name}`}
        columns={[...numbers(unit, name, 'attempt'), 'time', 'state']}
        rows={rows.map(({ position, value, attempt, at, state }) => [
          String(position),
          String(value),
          String(attempt),
          timeText(at),
          state,
        ])}
      />
    </>
  );
}
