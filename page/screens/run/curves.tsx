/** The curves of a run as small multiples: the leading metric first, one axis and one cursor for all. */
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import { isFinished } from '../../../client/run-view.ts';
import { Chart, type ChartProps } from '../../charts/chart.tsx';
import type { Range } from '../../charts/plot.tsx';
import {
  AXES,
  type Axis,
  absenceText,
  bestOf,
  curveColumns,
  FEW_POINTS,
  inOrder,
  isMeasure,
  type SeriesView,
  smoothed,
  unitOf,
} from '../../model/curve.ts';
import { clockText, percentText, shortNumber, timeText } from '../../model/format.ts';
import { axisOf } from '../../model/spending.ts';
import { columnsOfUtilisation, meanOf, type UtilisationView } from '../../model/utilisation-rows.ts';
import { Empty, Section } from '../../parts/card.tsx';
import { Choice } from '../../parts/controls.tsx';
import { numbers } from '../../parts/table.tsx';
import { address, setQuery } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import { useReading } from '../../state/readings.ts';

type View = AnswerOf<'getRun'>;

/** More than a chart has pixels. */
const DETAILED_POINTS = 4_000;
const CURVES = 8;

/** What the address says of all curves. */
export function shownAxis() {
  const { query } = address.value;
  const x = AXES.find((each) => each === query.get('x')) ?? 'step';
  const [, from, to] =
    /^(\d{1,15}(?:\.\d{1,9})?)-(\d{1,15}(?:\.\d{1,9})?)$/.exec(query.get('zoom') ?? '') ?? [];
  const range = Number(to) > Number(from) ? { from: Number(from), to: Number(to) } : undefined;
  return { x, range, isRaw: query.get('lines') === 'raw', isLog: query.get('scale') === 'log' };
}

const mark = ({ from, to }: Range): void =>
  setQuery({ zoom: `${Math.max(0, from).toFixed(4)}-${Math.max(0, to).toFixed(4)}` });

interface CurvesProps {
  readonly view: View;
  readonly series: readonly SeriesView[];
  readonly leading: string | undefined;
  readonly busy: UtilisationView | undefined;
}

export function Curves({ view, series, leading, busy }: CurvesProps) {
  const { x } = shownAxis();
  const { query } = address.value;
  const axis = useMemo(() => axisOf(x, view), [x, view]);
  const ordered = useMemo(() => inOrder(series, leading), [series, leading]);
  const [find, large] = [query.get('curve') ?? '', query.get('large')];
  const found = ordered.filter(({ name }) => name.toLowerCase().includes(find.toLowerCase()));
  const isWhole = query.get('curves') === 'all' || find !== '';
  const some = isWhole ? found : found.slice(0, CURVES);
  const absent = absenceText(view.attempts, series);
  const note = `${some.length} of ${ordered.length}${isWhole ? '' : ', those that say most first'}`;
  return (
    <Section
      title="Curves"
      note={ordered.length === 0 ? undefined : note}
      tools={<Tools all={ordered} axis={axis} isWhole={isWhole} />}
    >
      {absent !== undefined && <p class="quiet">{absent}</p>}
      {ordered.length === 0 && absent === undefined && (
        <Empty>
          {isFinished(view.run) ? 'The script printed no number.' : 'The script has printed no number yet.'}
        </Empty>
      )}
      <div class="curves">
        {some.map((each) => (
          <DetailedCurve
            key={`${each.source} ${each.name} ${each.unit}`}
            series={each}
            axis={axis}
            runId={view.run.runId}
            isLarge={large === each.name}
          />
        ))}
        {busy !== undefined && busy.points.length > 0 && (
          <Utilisation utilisation={busy} isOnAxis={x === 'time'} />
        )}
      </div>
    </Section>
  );
}

interface ToolsProps {
  readonly all: readonly SeriesView[];
  readonly axis: Axis;
  readonly isWhole: boolean;
}

function Tools({ all, axis, isWhole }: ToolsProps) {
  const { x, isRaw, isLog } = shownAxis();
  return (
    <>
      <Zoom all={all} axis={axis} />
      <Choice
        word="x"
        values={AXES}
        chosen={x}
        without={{ zoom: undefined }}
        text={(each) => (each === 'dollars' ? '$' : each)}
      />
      <Choice word="lines" values={['smooth', 'raw']} chosen={isRaw ? 'raw' : 'smooth'} />
      <Choice word="scale" values={['linear', 'log']} chosen={isLog ? 'log' : 'linear'} />
      {all.length > CURVES && (
        <button
          type="button"
          onClick={() => setQuery({ curves: isWhole ? undefined : 'all', curve: undefined })}
        >
          {isWhole ? 'Fewer' : `All ${all.length}`}
        </button>
      )}
    </>
  );
}

/** The buttons do what dragging over a curve does. */
function Zoom({ all, axis: { xOf } }: Pick<ToolsProps, 'all' | 'axis'>) {
  const marked = shownAxis().range;
  const ends = all.flatMap(({ points }) =>
    [points[0], points.at(-1)].flatMap((point) => (point ? [xOf(point)] : [])),
  );
  if (ends.length === 0) return null;
  const { from, to } = marked ?? { from: Math.min(...ends), to: Math.max(...ends) };
  const quarter = (to - from) / 4;
  const button = (name: string, press: () => void) => (
    <button type="button" class="plain" onClick={press}>
      {name}
    </button>
  );
  return (
    <>
      {button('closer', () => mark({ from: from + quarter, to: to - quarter }))}
      {marked !== undefined && (
        <>
          {button('earlier', () => mark({ from: from - quarter, to: to - quarter }))}
          {button('later', () => mark({ from: from + quarter, to: to + quarter }))}
          {button('whole run', () => setQuery({ zoom: undefined }))}
        </>
      )}
    </>
  );
}

interface CurveProps {
  readonly series: SeriesView;
  readonly axis: Axis;
  readonly runId: string;
  readonly isLarge: boolean;
}

/** An overview has few points; a part of it is drawn with all. */
function DetailedCurve({ series, runId, ...props }: CurveProps) {
  const { name, source, unit, points, pointCount } = series;
  const isClose = shownAxis().range !== undefined || props.isLarge;
  const wanted = isClose && pointCount > points.length ? { runId, points: DETAILED_POINTS, name } : undefined;
  const { body } = useReading('getSeries', wanted, () => undefined);
  const whole = body?.series.find((each) => each.source === source && each.unit === unit);
  return <Curve series={whole ?? series} {...props} />;
}

export function xTextOf({ name }: Pick<Axis, 'name'>, unit: string): (x: number) => string {
  if (name === 'time') return (x) => clockText(x * 1000);
  if (name === 'dollars') return (x) => `$${x.toFixed(2)}`;
  return (x) => `${unit} ${shortNumber(x)}`;
}

function Curve({ series, axis, isLarge }: Omit<CurveProps, 'runId'>) {
  const { name, unit, points } = series;
  const { range, isRaw, isLog } = shownAxis();
  const isSmooth = !isRaw && points.length > FEW_POINTS;
  const { data, marks } = useMemo(
    () => columnsOf(series, axis, { isSmooth, isLog }),
    [series, axis, isSmooth, isLog],
  );
  const sign = unitOf(name);
  const valueText = (value: number): string => `${shortNumber(value)}${sign}`;
  const [best, last] = [bestOf(series), points.at(-1)];
  return (
    <Chart
      name={name}
      note={
        best && isMeasure(name)
          ? `best ${valueText(best.value)} at ${unit} ${shortNumber(best.position)}`
          : undefined
      }
      last={last === undefined ? '' : last.value === null ? 'no number' : valueText(last.value)}
      label={`${name} by ${axis.name === 'step' ? unit : axis.name}`}
      axis={`${axis.name} ${axis.name === 'step' ? unit : ''}`}
      range={range}
      onRange={mark}
      lines={linesOf(isSmooth)}
      data={data}
      marks={marks}
      isLog={isLog}
      valueText={valueText}
      xText={xTextOf(axis, unit)}
      table={tableOf(series)}
      isLarge={isLarge}
      onSize={() => setQuery({ large: isLarge ? undefined : name })}
    />
  );
}

const linesOf = (isSmooth: boolean): ChartProps['lines'] => [
  { label: isSmooth ? 'raw' : 'kept', colour: '--runs', isFaint: isSmooth },
  ...(isSmooth ? [{ label: 'smooth', colour: '--runs' }] : []),
  { label: 'lost', colour: '--warn', isDotted: true },
];

interface Drawn {
  readonly isSmooth: boolean;
  readonly isLog: boolean;
}

/** A logarithm knows no 0. */
function columnsOf(series: SeriesView, axis: Axis, { isSmooth, isLog }: Drawn) {
  const { x, kept, lost, marks } = curveColumns(series, axis);
  const drawn = (values: readonly (number | null | undefined)[]) =>
    isLog ? values.map((value) => (typeof value === 'number' && value <= 0 ? null : value)) : [...values];
  const data: uPlot.AlignedData = [
    [...x],
    drawn(kept),
    ...(isSmooth ? [drawn(smoothed(kept))] : []),
    drawn(lost),
  ];
  return { data, marks };
}

const tableOf = ({ unit, name, points, lost }: SeriesView): ChartProps['table'] => ({
  columns: [...numbers(unit, name, 'attempt'), 'time', 'state'],
  rows: () =>
    [points, lost].flatMap((all, isLost) =>
      all.map(({ position, value, attempt, at }) => [
        position,
        String(value),
        attempt,
        at,
        isLost ? 'lost' : 'kept',
      ]),
    ),
});

const LINES = [
  { label: 'CPU', colour: '--runs' },
  { label: 'GPU', colour: '--on-demand', dash: [8, 3] },
  { label: 'waiting for data', colour: '--spot', dash: [2, 3] },
];

/** How busy the hosts were, over all attempts. */
function Utilisation({
  utilisation,
  isOnAxis,
}: {
  readonly utilisation: UtilisationView;
  readonly isOnAxis: boolean;
}) {
  const { points, hostsLeftOut } = utilisation;
  const data = useMemo(() => columnsOfUtilisation(points), [points]);
  const means = [meanOf(points, 'cpuBusy'), meanOf(points, 'gpuBusy'), meanOf(points, 'waiting')];
  const leftOut = hostsLeftOut > 0 ? `; without ${hostsLeftOut} hosts, too many to read` : '';
  return (
    <Chart
      name="utilisation"
      note={`mean over the hosts${leftOut}`}
      label="utilisation by time"
      axis="time "
      range={isOnAxis ? shownAxis().range : undefined}
      {...(isOnAxis && { onRange: mark })}
      lines={LINES}
      data={data}
      valueText={percentText}
      extent={[0, 1]}
      xText={xTextOf({ name: 'time' }, '')}
      legend={LINES.map(({ label }, place) => {
        const mean = means[place];
        return mean === undefined ? undefined : `${label}, mean ${percentText(mean)}`;
      })}
      table={{
        columns: ['until', ...numbers('attempt', 'hosts', ...LINES.map(({ label }) => label))],
        rows: () =>
          points.map(({ at, attempt, hosts, cpuBusy, gpuBusy, waiting }) => [
            timeText(at),
            attempt,
            hosts,
            percentText(cpuBusy),
            gpuBusy === undefined ? '' : percentText(gpuBusy),
            percentText(waiting),
          ]),
      }}
    />
  );
}
