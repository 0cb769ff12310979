/** The life line of a run: what it did when, on one axis from its first arrival to its report. Times are milliseconds. */
import type { Operations } from '../../client/operations.ts';
import { type AttemptTimes, isFinished, timeOf, timesOfAttempt } from '../../client/run-view.ts';
import * as format from './format.ts';

type RunAnswer = Operations['getRun']['answer'];
/** What is drawn of the answer of `GET /runs/{runId}`. */
export type RunView = Pick<RunAnswer, 'run' | 'attempts' | 'timeline' | 'progress' | 'report'> & {
  readonly money?: Pick<RunAnswer['money'], 'deadlineAt' | 'expected'>;
};
type Attempt = RunView['attempts'][number];

export type SpanKind = 'settle' | 'pack' | 'place' | 'start' | 'spot' | 'on-demand' | 'reserved' | 'lost';

interface Span {
  readonly kind: SpanKind;
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** Stands in the bar of an attempt. */
  readonly label?: string;
}

type Fan = Readonly<Record<'low' | 'expected' | 'high', number>>;

export type MarkKind = 'save' | 'flag' | 'doctor';

export type Mark = Readonly<{ kind: MarkKind; at: number; text: string }>;

export interface LifeLine {
  readonly from: number;
  readonly to: number;
  /** In order of time; lost work lies over the attempt that lost it. */
  readonly spans: readonly Span[];
  /** The last save of each attempt, warnings of capacity, what persons asked for, and what the doctor said. */
  readonly marks: readonly Mark[];
  /** When the run is expected to end, with the 90 % interval. */
  readonly fan?: Fan | undefined;
  /** Absent where it is so far off that the run would not be seen beside it. */
  readonly deadline?: number | undefined;
  /** The deadline, however far. */
  readonly due?: number | undefined;
}

/** Kinds of entries of the timeline that stand on the line. */
const FLAGGED = /(Replaced|Recommended|Stalled|NewerNote|Hangs|StopRequested|RetryRequested|LimitsChanged)$/;

/** In lengths of the run. */
const NEAR_DEADLINE = 2;

/** @param now end of what still goes on */
export function lifeLineOf(view: RunView, now: number, verdicts: readonly Mark[] = []): LifeLine {
  const { run, attempts, timeline, report, money } = view;
  const from = Date.parse(run.createdAt);
  const end = endOf(view, now);
  const fan = fanOf(money, end);
  const due = timeOf(report?.deadline.at ?? money?.deadlineAt);
  const far = from + NEAR_DEADLINE * ((fan?.high ?? end) - from);
  // A distant deadline would press the run into a corner.
  const deadline = due === undefined || due > far ? undefined : due;
  return {
    from,
    to: Math.max(end, deadline ?? 0, fan?.high ?? 0, from + 1),
    spans: spansOf(view, end).filter((span) => span.to > span.from),
    marks: [
      ...attempts.flatMap((attempt) => savesOf(attempt)),
      ...timeline.flatMap(({ kind, at, text }) =>
        FLAGGED.test(kind) ? [{ kind: 'flag' as const, at: Date.parse(at), text }] : [],
      ),
      ...verdicts,
    ],
    fan,
    deadline,
    due,
  };
}

const endOf = ({ run, report }: RunView, now: number): number =>
  timeOf(report?.finishedAt) ?? (isFinished(run) ? Date.parse(run.updatedAt) : now);

function spansOf({ run, attempts, report }: RunView, end: number): Span[] {
  const closed = timeOf(run.closedAt) ?? end;
  const sealed = timeOf(run.sealedAt) ?? (run.status === 'packing' ? end : closed);
  const begun = Date.parse(run.createdAt);
  const spans: Span[] = [
    { kind: 'settle', from: begun, to: closed, text: 'waited until the data was complete' },
    { kind: 'pack', from: closed, to: sealed, text: 'packed shards' },
  ];
  let free = sealed;
  for (const attempt of attempts) {
    const reported = report?.attempts.find((each) => each.attempt === attempt.attempt);
    const times = timesOfAttempt(attempt, reported, end);
    const text = `chose a pool for attempt ${attempt.attempt}`;
    spans.push({ kind: 'place', from: free, to: times.begun, text }, ...spansOfAttempt(attempt, times));
    free = times.end;
  }
  if (run.status === 'placing') spans.push({ kind: 'place', from: free, to: end, text: 'looks for a pool' });
  return spans;
}

/** A finish that is past is none: the estimate waits for news. */
function fanOf(money: RunView['money'], end: number): Fan | undefined {
  const finish = money?.expected?.finishAt;
  if (finish === undefined) return undefined;
  const at = (time: string): number => Math.max(end, Date.parse(time));
  const fan = { low: at(finish.low), expected: at(finish.expected), high: at(finish.high) };
  return fan.high > end ? fan : undefined;
}

function spansOfAttempt({ attempt, placement }: Attempt, times: AttemptTimes): Span[] {
  const { purchaseOption, zoneId } = placement.pool;
  const { begun, script, lostFrom, end } = times;
  const shortPool = { ...placement.pool, zoneId: zoneId?.replace(/^.*-/, '') };
  const named = `attempt ${attempt}, ${format.poolText(placement)}`;
  return [
    { kind: 'start', from: begun, to: script, text: `${named}: started its hosts` },
    {
      kind: purchaseOption,
      from: script,
      to: end,
      text: named,
      label: `${attempt} ${format.placeText(shortPool)}`,
    },
    { kind: 'lost', from: lostFrom, to: end, text: `${named}: lost work` },
  ];
}

function savesOf({ createdAt, progressAfter }: Attempt): Mark[] {
  const at = timeOf(progressAfter?.updatedAt);
  // An attempt that saved nothing hands on the save of an earlier one.
  if (progressAfter === undefined || at === undefined || at < Date.parse(createdAt)) return [];
  return [{ kind: 'save', at, text: `saved ${progressAfter.step}` }];
}

/** A mark an attempt: its verdicts are of one moment. */
export const verdictMarks = (verdicts: Operations['getUtilisation']['answer']['verdicts']): Mark[] =>
  [...Map.groupBy(verdicts, ({ attempt }) => attempt)].map(([attempt, all]) => ({
    kind: 'doctor',
    at: Date.parse(all[0]?.at ?? ''),
    text: `doctor on attempt ${attempt}: ${all.map(({ cause, remedy }) => (remedy === undefined ? cause : `${cause}, ${remedy}`)).join('; ')}`,
  }));

const NAMES: Partial<Record<SpanKind, string>> = { ...format.PURCHASE_OPTIONS, lost: 'lost work' };
export const spanName = (kind: SpanKind): string => NAMES[kind] ?? kind;

export const fanText = ({ low, expected, high }: Fan): string =>
  `done ${format.whenText(expected)}, ${format.spanText(low, high)}`;

/** A reader who hears the page learns the outline; the table has the rest. */
export function labelOf({ spans, marks }: LifeLine): string {
  const count = (...kinds: readonly string[]): number =>
    [...spans, ...marks].filter(({ kind }) => kinds.includes(kind)).length;
  return `life line of the run: ${count('spot', 'on-demand', 'reserved')} attempts, ${count('lost')} with lost work, ${count('save')} saves, ${count('flag')} warnings, ${count('doctor')} verdicts of the doctor`;
}

type LineRow = readonly [at: number, text: string, kind: string, took?: string];

/** As a table, in order of time: what, its kind, since when and for how long. */
export function lineRows({ spans, marks, due, fan }: LifeLine) {
  const rows: readonly LineRow[] = [
    ...spans.map(
      ({ kind, text, from, to }): LineRow => [from, text, spanName(kind), format.elapsedText(from, to)],
    ),
    ...marks.map(({ kind, text, at }): LineRow => [at, text, kind]),
    ...(fan === undefined ? [] : [[fan.expected, fanText(fan), 'expected'] as const]),
    ...(due === undefined ? [] : [[due, 'deadline', 'deadline'] as const]),
  ];
  return rows
    .toSorted(([one], [other]) => one - other)
    .map(([at, text, kind, length = '']) => [text, kind, format.whenText(at), length]);
}

const MINUTE = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080];
/** Pixels. */
const TICK_WIDTH = 90;

/** On round times of the reader's zone, away from both ends. */
export function ticksOf({ from, to }: Pick<LifeLine, 'from' | 'to'>, width: number) {
  const steps = STEPS.map((each) => each * MINUTE);
  const step = steps.find((each) => (to - from) / each <= width / TICK_WIDTH) ?? to - from;
  const zone = new Date(from).getTimezoneOffset() * MINUTE;
  const edge = ((to - from) * 20) / width;
  const first = Math.ceil((from + edge - zone) / step) * step + zone;
  const count = Math.max(0, Math.floor((to - edge - first) / step) + 1);
  return Array.from({ length: count }, (_, place) => {
    const time = first + place * step;
    return { time, text: to - from > 1_440 * MINUTE ? format.whenText(time) : format.clockText(time) };
  });
}
