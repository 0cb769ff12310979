/** The screen "Run": outcome and money, the life line with the curves on its axis, and the timeline. */
import { Curve } from '../charts/curve.tsx';
import { LifeLineChart, type Range } from '../charts/life-line.tsx';
import { type AxisOfCurve, finite, type SeriesView } from '../model/curve.ts';
import { durationText, timeText } from '../model/format.ts';
import { isFinished, lifeLineOf, type RunView } from '../model/life-line.ts';
import { Table } from '../parts/table.tsx';
import { Command, Facts, Problem, Time, Usd } from '../parts/text.tsx';
import { address, setQuery } from '../state/address.ts';
import { useClock } from '../state/clock.ts';
import { useReading } from '../state/readings.ts';
import { Steering } from './steering.tsx';

const POLL_SECONDS = 1.5;
const SERIES_POLL_SECONDS = 5;
const POINTS = 500;
const DETAILED_POINTS = 20_000;
const CURVES = 6;

interface SeriesAnswer {
  readonly series: readonly SeriesView[];
}

export function RunScreen({ runId }: { readonly runId: string }) {
  const path = `/runs/${encodeURIComponent(runId)}`;
  const run = useReading<RunView>(path, (view) => (isFinished(view.run) ? undefined : POLL_SECONDS));
  const isEnded = run.body !== undefined && isFinished(run.body.run);
  if (run.body === undefined) return run.refusal === undefined ? <p>Reading the API…</p> : null;
  const view = run.body;
  return (
    <>
      <h1>{view.run.runId}</h1>
      {view.run.failure !== undefined && <Problem>{view.run.failure}</Problem>}
      <RunFacts view={view} />
      <Steering view={view} onChange={run.again} />
      <OneAxis view={view} path={path} isEnded={isEnded} />
      <h2>Timeline</h2>
      <Timeline view={view} />
      <Command text={`tidewheel logs ${view.run.runId}`} />
      <Command text={`tidewheel why ${view.run.runId}`} />
    </>
  );
}

interface OneAxisProps {
  readonly view: RunView;
  readonly path: string;
  readonly isEnded: boolean;
}

/** The life line and the curves share the axis of time, and the part of it that the reader has marked. */
function OneAxis({ view, path, isEnded }: OneAxisProps) {
  const now = useClock(!isEnded);
  const line = lifeLineOf(view, now);
  const { query } = address.value;
  const marked = rangeIn(query.get('t'));
  const range = marked ?? line;
  const axis: AxisOfCurve = query.get('x') === 'step' ? 'position' : 'time';
  const curves = useReading<SeriesAnswer>(`${path}/series?points=${POINTS}`, () =>
    isEnded ? undefined : SERIES_POLL_SECONDS,
  );
  return (
    <>
      <LifeLineChart line={line} range={range} />
      <div class="tools" role="group" aria-label="axis">
        <button
          type="button"
          class="small"
          aria-pressed={axis === 'time'}
          onClick={() => setQuery({ x: undefined })}
        >
          by time
        </button>
        <button
          type="button"
          class="small"
          aria-pressed={axis === 'position'}
          onClick={() => setQuery({ x: 'step' })}
        >
          by step
        </button>
        <Zoom line={line} marked={marked} />
      </div>
      <Curves all={curves.body?.series ?? []} axis={axis} range={range} detail={marked && path} />
    </>
  );
}

const rangeText = ({ from, to }: Range): string => `${Math.round(from)}-${Math.round(to)}`;
const mark = (range: Range): void => setQuery({ t: rangeText(range) });

function Zoom({ line, marked }: { readonly line: Range; readonly marked: Range | undefined }) {
  const { from, to } = marked ?? line;
  const quarter = (to - from) / 4;
  const move = (by: number): void => mark({ from: from + by, to: to + by });
  return (
    <>
      <button type="button" class="small" onClick={() => mark({ from: from + quarter, to: to - quarter })}>
        closer
      </button>
      {marked !== undefined && (
        <>
          <button type="button" class="small" onClick={() => move(-quarter)}>
            earlier
          </button>
          <button type="button" class="small" onClick={() => move(quarter)}>
            later
          </button>
          <button type="button" class="small" onClick={() => setQuery({ t: undefined })}>
            whole run
          </button>
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
  /** Address of the run, where the reader looks closer than at all of it. */
  readonly detail: string | undefined;
}

function Curves({ all, axis, range, detail }: CurvesProps) {
  const drawn = all.filter(({ points, lost }) => finite(points).length + finite(lost).length > 0);
  const isWhole = address.value.query.get('curves') === 'all';
  const some = isWhole ? drawn : drawn.slice(0, CURVES);
  return (
    <>
      {some.map((series) => (
        <DetailedCurve
          key={`${series.source} ${series.name} ${series.unit}`}
          series={series}
          axis={axis}
          range={range}
          detail={detail}
        />
      ))}
      {some.length < drawn.length && (
        <button
          type="button"
          onClick={() => setQuery({ curves: 'all' })}
        >{`all ${drawn.length} curves`}</button>
      )}
    </>
  );
}

interface DetailedCurveProps extends Omit<CurvesProps, 'all'> {
  readonly series: SeriesView;
}

/** An overview has few points; a part of it is drawn with all. */
function DetailedCurve({ series, axis, range, detail }: DetailedCurveProps) {
  const isThinned = (series.pointCount ?? 0) > series.points.length;
  const path =
    detail === undefined || !isThinned
      ? undefined
      : `${detail}/series?points=${DETAILED_POINTS}&name=${encodeURIComponent(series.name)}`;
  const { body } = useReading<SeriesAnswer>(path, () => undefined);
  const whole = body?.series.find(({ source, unit }) => source === series.source && unit === series.unit);
  return <Curve series={whole ?? series} axis={axis} range={range} onRange={mark} />;
}

function RunFacts({ view: { run, attempts, progress, report } }: { readonly view: RunView }) {
  const furthest = progress ?? attempts.at(-1)?.progressAfter;
  const saved = furthest === undefined ? [] : [['saved', <Saved progress={furthest} />] as const];
  const cost = isFinished(run) ? 'no report' : 'known at the end';
  return (
    <Facts
      items={[
        ['state', run.status],
        ['began', <Time at={run.createdAt} />],
        ...saved,
        ...(report === undefined ? [['cost', cost] as const] : reportFacts(run, report)),
      ]}
    />
  );
}

type Report = NonNullable<RunView['report']>;

const reportFacts = (run: RunView['run'], report: Report) =>
  [
    ['took', durationText(Date.parse(report.finishedAt) - Date.parse(run.createdAt))],
    ['deadline', <Deadline report={report} />],
    [
      'cost',
      <Usd
        usd={report.costUsd}
        basis="billed seconds of all attempts by the price of their pools, and what was copied between regions"
      />,
    ],
    [
      'On-Demand would be',
      <Usd
        usd={report.onDemandUsd}
        basis="the same useful work on the same types at On-Demand prices, without an interruption"
      />,
    ],
    ['lost work', durationText(report.lostSeconds * 1000)],
    ['interruptions', String(report.interruptions)],
  ] as const;

function Deadline({ report: { deadline, finishedAt } }: { readonly report: Report }) {
  if (deadline.at === undefined) return <>none</>;
  const left = Date.parse(deadline.at) - Date.parse(finishedAt);
  const title = timeText(deadline.at);
  if (deadline.met === null) return <>{title}</>;
  const text = left >= 0 ? `${durationText(left)} early` : `${durationText(-left)} late`;
  return <span title={title}>{deadline.met ? `met, ${text}` : `missed${left < 0 ? `, ${text}` : ''}`}</span>;
}

function Saved({ progress }: { readonly progress: NonNullable<RunView['progress']> }) {
  const { step, totalSteps, unit = 'step' } = progress;
  if (totalSteps <= 0) return <>{`${unit} ${step}`}</>;
  return (
    <span>
      {`${unit} ${step} of ${totalSteps} `}
      <progress value={step} max={totalSteps} aria-label="saved work" />
    </span>
  );
}

function Timeline({ view: { run, timeline } }: { readonly view: RunView }) {
  if (timeline.length === 0) return <p class="quiet">Nothing has happened yet.</p>;
  return (
    <Table
      caption="timeline"
      columns={['time', 'what happened']}
      rows={timeline.map(({ at, text }) => [<Time at={at} since={run.createdAt} />, text])}
    />
  );
}
