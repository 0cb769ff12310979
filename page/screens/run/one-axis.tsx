/** The life line and the curves share the axis of time, and the part of it that the reader has marked. */
import type { ComponentChildren } from 'preact';
import { Curve } from '../../charts/curve.tsx';
import { LifeLineChart, type Range } from '../../charts/life-line.tsx';
import { UtilisationChart } from '../../charts/utilisation.tsx';
import { type AxisOfCurve, absenceText, finite, type SeriesView } from '../../model/curve.ts';
import { lifeLineOf, type RunView } from '../../model/life-line.ts';
import { type UtilisationView, verdictMarks } from '../../model/utilisation-rows.ts';
import { numbers, Table } from '../../parts/table.tsx';
import { address, setQuery } from '../../state/address.ts';
import { useClock } from '../../state/minute-clock.ts';
import { useReading } from '../../state/readings.ts';

const SERIES_POLL_SECONDS = 5;
/** A point stands for ten seconds or more. */
const UTILISATION_POLL_SECONDS = 20;
const POINTS = 500;
const DETAILED_POINTS = 20_000;
const CURVES = 6;

interface OneAxisProps {
  readonly view: RunView;
  readonly runId: string;
  readonly isEnded: boolean;
}

export function OneAxis({ view, runId, isEnded }: OneAxisProps) {
  const now = useClock(!isEnded);
  const { body: busy } = useReading('getUtilisation', { runId }, () =>
    isEnded ? undefined : UTILISATION_POLL_SECONDS,
  );
  const line = lifeLineOf(view, now, verdictMarks(busy?.verdicts ?? []));
  const { query } = address.value;
  const marked = rangeIn(query.get('t'));
  const axis: AxisOfCurve = query.get('x') === 'step' ? 'position' : 'time';
  const curves = useReading('getSeries', { runId, points: POINTS }, () =>
    isEnded ? undefined : SERIES_POLL_SECONDS,
  );
  const toggle = (name: string, value: string | undefined, own: AxisOfCurve) => (
    <button type="button" class="small" aria-pressed={axis === own} onClick={() => setQuery({ x: value })}>
      {name}
    </button>
  );
  return (
    <>
      <LifeLineChart line={line} range={marked ?? line} />
      <div class="tools" role="group" aria-label="axis">
        {toggle('by time', undefined, 'time')}
        {toggle('by step', 'step', 'position')}
        <Zoom line={line} marked={marked} />
      </div>
      {curves.body !== undefined && (
        <>
          <Absence text={absenceText(view.attempts, curves.body.series)} />
          <Curves all={curves.body.series} axis={axis} range={marked ?? line} detail={marked && runId}>
            {busy !== undefined && <Hosts busy={busy} axis={axis} range={marked ?? line} />}
          </Curves>
        </>
      )}
    </>
  );
}

interface HostsProps {
  readonly busy: UtilisationView;
  readonly axis: AxisOfCurve;
  readonly range: Range;
}

function Hosts({ busy, axis, range }: HostsProps) {
  const { points, verdicts } = busy;
  return (
    <>
      {points.length > 0 && axis === 'time' && (
        <UtilisationChart utilisation={busy} range={range} onRange={mark} />
      )}
      {verdicts.length > 0 && (
        <Table
          caption="verdicts of the doctor"
          columns={[...numbers('attempt'), 'the doctor says', 'what to change']}
          rows={verdicts.map(({ attempt, cause, remedy }) => [attempt, cause, remedy ?? ''])}
        />
      )}
    </>
  );
}

const Absence = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : <p class="quiet">{text}</p>;

const rangeText = ({ from, to }: Range): string => `${Math.round(from)}-${Math.round(to)}`;
const mark = (range: Range): void => setQuery({ t: rangeText(range) });

function Zoom({ line, marked }: { readonly line: Range; readonly marked: Range | undefined }) {
  const { from, to } = marked ?? line;
  const quarter = (to - from) / 4;
  const button = (name: string, press: () => void) => (
    <button type="button" class="small" onClick={press}>
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
          {button('whole run', () => setQuery({ t: undefined }))}
        </>
      )}
    </>
  );
}

/** Of an address that a person may have written. */
function rangeIn(text: string | null): Range | undefined {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? '') ?? [];
  const range = { from: Number(from), to: Number(to) };
  return range.to > range.from ? range : undefined;
}

interface CurvesProps {
  readonly all: readonly SeriesView[];
  readonly axis: AxisOfCurve;
  readonly range: Range;
  /** The run, where the reader looks closer than at all of it. */
  readonly detail: string | undefined;
  /** Below the first curve, which is the loss as a rule. */
  readonly children: ComponentChildren;
}

function Curves({ all, axis, range, detail, children }: CurvesProps) {
  const drawn = all.filter(({ points, lost }) => finite(points).length + finite(lost).length > 0);
  const isWhole = address.value.query.get('curves') === 'all';
  const some = isWhole ? drawn : drawn.slice(0, CURVES);
  const [first, ...rest] = some.map((series) => (
    <DetailedCurve
      key={`${series.source} ${series.name} ${series.unit}`}
      series={series}
      axis={axis}
      range={range}
      detail={detail}
    />
  ));
  return (
    <>
      {first}
      {children}
      {rest}
      {some.length < drawn.length && (
        <button
          type="button"
          onClick={() => setQuery({ curves: 'all' })}
        >{`all ${drawn.length} curves`}</button>
      )}
    </>
  );
}

interface DetailedCurveProps extends Omit<CurvesProps, 'all' | 'children'> {
  readonly series: SeriesView;
}

/** An overview has few points; a part of it is drawn with all. */
function DetailedCurve({ series, axis, range, detail }: DetailedCurveProps) {
  const { name, source, unit, points, pointCount } = series;
  const isThinned = pointCount > points.length;
  const wanted =
    detail === undefined || !isThinned ? undefined : { runId: detail, points: DETAILED_POINTS, name };
  const { body } = useReading('getSeries', wanted, () => undefined);
  const whole = body?.series.find((each) => each.source === source && each.unit === unit);
  return <Curve series={whole ?? series} axis={axis} range={range} onRange={mark} />;
}
