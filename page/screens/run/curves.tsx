/** The curves of a run as small multiples: the leading metric first, one axis and one cursor for all. */
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import { Chart, type ChartProps } from '../../charts/chart.tsx';
import { Legend } from '../../charts/figure.tsx';
import { LOOKS, type Range, Swatch } from '../../charts/plot.tsx';
import * as curve from '../../model/curve.ts';
import { clockText, percentText, shortNumber, timeText } from '../../model/format.ts';
import { leadingName } from '../../model/leading.ts';
import { Empty, Section } from '../../parts/card.tsx';
import { ChoiceButtons } from '../../parts/controls.tsx';
import { numbers } from '../../parts/table.tsx';
import { address, setQuery } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import { useReading } from '../../state/readings.ts';

/** More than a chart has pixels. */
const DETAILED_POINTS = 4_000;
/** With the utilisation, three rows of three. */
const CURVES = 8;

/** What the address says of all curves. */
export function shownAxis() {
  const { query } = address.value;
  const x = curve.AXES.find((each) => each === query.get('x')) ?? 'step';
  const [from = 0, to = 0] = (query.get('zoom') ?? '').split('-').map(Number);
  const range = to > from && Number.isFinite(to) ? { from, to } : undefined;
  return { x, range, isRaw: query.get('lines') === 'raw', isLog: query.get('scale') === 'log' };
}

const mark = ({ from, to }: Range): void =>
  setQuery({ zoom: `${Math.max(0, from).toFixed(4)}-${Math.max(0, to).toFixed(4)}` });

type CurvesProps = Readonly<{
  view: AnswerOf<'getRun'>;
  series: readonly curve.SeriesView[];
  busy: curve.UtilisationView | undefined;
}>;

export function Curves({ view, series, busy }: CurvesProps) {
  const { x } = shownAxis();
  const { query } = address.value;
  const axis = useMemo(() => curve.axisOf(x, view), [x, view]);
  const all = useMemo(() => curve.leadingFirst(series, leadingName(view, series)), [series, view]);
  const isWhole = query.get('curves') === 'all';
  const some = isWhole ? all : all.slice(0, CURVES);
  const absent = curve.absenceText(view.attempts, series);
  const note = all.length > 0 && `${some.length} of ${all.length}, those that say most first`;
  return (
    <Section title="Curves" note={note} tools={<Tools all={all} axis={axis} isWhole={isWhole} />}>
      <p class="quiet">{absent}</p>
      {all.length === 0 && absent === undefined && <Empty>The script has printed no number.</Empty>}
      <div class="curves">
        {some.map((series) => {
          const { source, name, unit } = series;
          const isLarge = query.get('large') === name;
          return (
            <Curve key={`${source} ${name} ${unit}`} {...{ series, axis, isLarge }} runId={view.run.runId} />
          );
        })}
        {busy && busy.points.length > 0 && <Utilisation busy={busy} isOnAxis={x === 'time'} />}
      </div>
    </Section>
  );
}

type ToolsProps = Readonly<{ all: readonly curve.SeriesView[]; axis: curve.Axis; isWhole: boolean }>;

/** The zoom's buttons do what dragging over a curve does. */
function Tools({ all, axis: { xOf }, isWhole }: ToolsProps) {
  const { x, range, isRaw, isLog } = shownAxis();
  const ends = all.flatMap(({ points }) =>
    [points[0], points.at(-1)].flatMap((end) => (end ? xOf(end) : [])),
  );
  const { from, to } = range ?? { from: Math.min(...ends), to: Math.max(...ends) };
  const quarter = (to - from) / 4;
  const button = (name: string, press: () => void) => (
    <button type="button" class="plain" onClick={press}>
      {name}
    </button>
  );
  const moved = (name: string, left: number, right: number) =>
    button(name, () => mark({ from: from + left * quarter, to: to + right * quarter }));
  return (
    <>
      {ends.length > 0 && moved('closer', 1, -1)}
      {range && moved('earlier', -1, -1)}
      {range && moved('later', 1, 1)}
      {range && button('whole run', () => setQuery({ zoom: undefined }))}
      <ChoiceButtons word="x" values={curve.AXES} chosen={x} />
      <ChoiceButtons word="lines" values={['smooth', 'raw']} chosen={isRaw ? 'raw' : 'smooth'} />
      <ChoiceButtons word="scale" values={['linear', 'log']} chosen={isLog ? 'log' : 'linear'} />
      {all.length > CURVES && (
        <button type="button" onClick={() => setQuery({ curves: isWhole ? undefined : 'all' })}>
          {isWhole ? 'Fewer' : `All ${all.length}`}
        </button>
      )}
    </>
  );
}

const xTextOf = ({ name }: Pick<curve.Axis, 'name'>, unit: string): ((x: number) => string) =>
  ({
    time: (x: number) => clockText(x * 1000),
    dollars: (x: number) => `$${x.toFixed(2)}`,
    step: (x: number) => `${unit} ${shortNumber(x)}`,
  })[name];

type CurveProps = Readonly<{ series: curve.SeriesView; axis: curve.Axis; runId: string; isLarge: boolean }>;

/** An overview has few points; a part of it, or a large one, is drawn with more. */
function Curve({ series: few, axis, runId, isLarge }: CurveProps) {
  const { name, source, unit, pointCount } = few;
  const { range, isRaw, isLog } = shownAxis();
  const isThinned = (range !== undefined || isLarge) && pointCount > few.points.length;
  const wanted = isThinned ? { runId, points: DETAILED_POINTS, name } : undefined;
  const { body } = useReading('getSeries', wanted);
  const series = body?.series.find((each) => each.source === source && each.unit === unit) ?? few;
  const isSmooth = !isRaw && series.points.length > curve.FEW_POINTS;
  const drawn = useMemo(() => columnsOf(series, axis, isSmooth, isLog), [series, axis, isSmooth, isLog]);
  return (
    <Chart
      {...{ name, range, isLog, isLarge, ...drawn, ...captionOf(series) }}
      axis={axis.name === 'step' ? unit : axis.name}
      valueText={(value) => curve.unitText(name, value)}
      onRange={mark}
      lines={isSmooth ? SMOOTH : RAW}
      xText={xTextOf(axis, unit)}
      table={tableOf(series)}
      onSize={() => setQuery({ large: isLarge ? undefined : name })}
    />
  );
}

/** The best and the last value. */
function captionOf(series: curve.SeriesView) {
  const { name, unit, points } = series;
  const best = curve.isMeasure(name) ? curve.bestOf(series) : undefined;
  const last = points.at(-1)?.value;
  return {
    note: best && `best ${curve.unitText(name, best.value)} at ${unit} ${shortNumber(best.position)}`,
    last: typeof last === 'number' ? curve.unitText(name, last) : 'no number',
  };
}

const LOST = { label: 'lost', colour: '--warn', isDotted: true } as const;
const RAW: ChartProps['lines'] = [{ label: 'kept', colour: '--runs' }, LOST];
const SMOOTH: ChartProps['lines'] = [
  { label: 'raw', colour: '--runs', isFaint: true },
  { label: 'smooth', colour: '--runs' },
  LOST,
];

/** A logarithm knows no 0. */
function columnsOf(series: curve.SeriesView, axis: curve.Axis, isSmooth: boolean, isLog: boolean) {
  const { x, kept, lost, marks } = curve.curveColumns(series, axis);
  const drawn = (values: readonly (number | null | undefined)[]) =>
    values.map((value) => (isLog && typeof value === 'number' && value <= 0 ? null : value));
  const smooth = isSmooth ? [drawn(curve.smoothed(kept))] : [];
  return { data: [[...x], drawn(kept), ...smooth, drawn(lost)] satisfies uPlot.AlignedData, marks };
}

const tableOf = ({ unit, name, points, lost }: curve.SeriesView): ChartProps['table'] => ({
  columns: [...numbers(unit, name, 'attempt'), 'time', 'state'],
  rows: () =>
    Object.entries({ kept: points, lost }).flatMap(([state, all]) =>
      all.map(({ position, value, attempt, at }) => [position, String(value), attempt, at, state]),
    ),
});

const LABELS = ['CPU', 'GPU', 'waiting for data'];
const LINES = LABELS.map((label, place) => ({ label, colour: '--quiet', ...LOOKS[place] }));

/** How busy the hosts were, over all attempts: always by time. */
function Utilisation({ busy, isOnAxis }: Readonly<{ busy: curve.UtilisationView; isOnAxis: boolean }>) {
  const { points, hostsLeftOut } = busy;
  const data = useMemo(() => curve.columnsOfUtilisation(points), [points]);
  const leftOut = hostsLeftOut > 0 ? `; without ${hostsLeftOut} hosts, too many to read` : '';
  return (
    <Chart
      name="utilisation"
      note={`mean over the hosts${leftOut}`}
      axis="time"
      range={isOnAxis ? shownAxis().range : undefined}
      {...(isOnAxis && { onRange: mark })}
      lines={LINES}
      data={data}
      valueText={percentText}
      extent={[0, 1]}
      xText={xTextOf({ name: 'time' }, '')}
      table={{
        columns: ['until', ...numbers('attempt', 'hosts', ...LABELS)],
        rows: () =>
          points.map(({ at, attempt, hosts, ...shares }) => {
            const texts = curve.SHARES.map((key) =>
              shares[key] === undefined ? '' : percentText(shares[key]),
            );
            return [timeText(at), attempt, hosts, ...texts];
          }),
      }}
    >
      <Legend
        items={curve.SHARES.flatMap((key, place) => {
          const mean = curve.meanOf(points, key);
          if (mean === undefined) return [];
          return [[<Swatch place={place} />, `${LABELS[place]}, mean ${percentText(mean)}`]];
        })}
      />
    </Chart>
  );
}
