/** One curve over all attempts, drawn by uPlot; what an interruption lost is dotted beside it. */
import './language.ts';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import {
  type AxisOfCurve,
  type Columns,
  columnsOf,
  evenly,
  finite,
  type SeriesView,
} from '../model/curve.ts';
import { shortNumber, timeText } from '../model/format.ts';
import { Numbers, Table } from '../parts/table.tsx';
import type { Range } from './life-line.tsx';

const HEIGHT = 200;
/** The life line has the same margin, so that both share their axis. */
const AXIS_WIDTH = 60;
const MOST_ROWS = 200;

interface CurveProps {
  readonly series: SeriesView;
  readonly axis: AxisOfCurve;
  /** Of time; with positions the curve shows all. */
  readonly range: Range;
  /** The reader has marked a part of the axis. */
  readonly onRange: (range: Range) => void;
}

export function Curve({ series, axis, range, onRange }: CurveProps) {
  const at = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shown = useRef({ range, onRange });
  shown.current = { range, onRange };
  useEffect(() => {
    const place = at.current;
    if (place === null) return undefined;
    const made = new uPlot(optionsOf(place, { series, axis }, shown), dataOf(columnsOf(series, axis)), place);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }));
    resized.observe(place);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => made.redraw();
    dark.addEventListener('change', redraw);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', redraw);
      made.destroy();
    };
  }, [axis, series.name]);
  useEffect(() => {
    plot.current?.setData(dataOf(columnsOf(series, axis)), axis === 'position');
  }, [series, axis]);
  useEffect(() => {
    if (axis === 'time') plot.current?.setScale('x', { min: range.from / 1000, max: range.to / 1000 });
  }, [range.from, range.to, axis]);
  const { name, unit } = series;
  return (
    <figure class="curve-figure">
      <figcaption>
        <h2>{name}</h2>
        <span class="quiet">{summaryOf(series)}</span>
      </figcaption>
      <div ref={at} class="plot" role="img" aria-label={`${name} by ${axis === 'time' ? 'time' : unit}`} />
      <Numbers id={`numbers-${name}`}>{() => <PointsTable series={series} />}</Numbers>
    </figure>
  );
}

const dataOf = ({ x, kept, lost }: Columns): uPlot.AlignedData => [[...x], [...kept], [...lost]];

const ink = {
  spot: () => resolved('--spot'),
  bad: () => resolved('--bad'),
  quiet: () => resolved('--quiet'),
  line: () => resolved('--line'),
};

/** `light-dark()` in a custom property stays unresolved, and a canvas does not know it. */
function resolved(name: string): string {
  const probe = document.getElementById('colour-probe');
  if (probe === null) return 'gray';
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

interface Shown {
  readonly range: Range;
  readonly onRange: (range: Range) => void;
}

function optionsOf(
  place: HTMLElement,
  { series, axis }: Pick<CurveProps, 'series' | 'axis'>,
  shown: { readonly current: Shown },
): uPlot.Options {
  const isTime = axis === 'time';
  const axes = {
    stroke: ink.quiet,
    grid: { stroke: ink.line, width: 1 },
    ticks: { stroke: ink.line, width: 1 },
  };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    padding: [8, 0, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: !isTime }, sync: { key: axis } },
    scales: {
      x: {
        time: isTime,
        ...(isTime && { range: () => [shown.current.range.from / 1000, shown.current.range.to / 1000] }),
      },
    },
    axes: [axes, { ...axes, size: AXIS_WIDTH, values: (_, splits) => splits.map(shortNumber) }],
    series: [
      {},
      { label: series.name, stroke: ink.spot, width: 1.5, spanGaps: false, points: { show: false } },
      { label: 'lost', stroke: ink.bad, paths: () => null, points: { show: true, size: 4, fill: ink.bad } },
    ],
    hooks: {
      setSelect: [
        (self) => {
          if (!isTime || self.select.width < 2) return;
          const from = self.posToVal(self.select.left, 'x') * 1000;
          const to = self.posToVal(self.select.left + self.select.width, 'x') * 1000;
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          shown.current.onRange({ from, to });
        },
      ],
    },
  };
}

function summaryOf({ points, unit }: SeriesView): string {
  const values = finite(points);
  const last = values.at(-1);
  if (last === undefined) return 'no number yet';
  let [low, high] = [last.value, last.value];
  for (const { value } of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return `${shortNumber(last.value)} at ${unit} ${last.position}; ${shortNumber(low)} to ${shortNumber(high)}`;
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
        columns={[
          { title: unit, isNumber: true },
          { title: name, isNumber: true },
          { title: 'attempt', isNumber: true },
          'time',
          'state',
        ]}
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
