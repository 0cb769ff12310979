/** The life line of a run, as SVG: what it did when. */
import { clockText, elapsedText, PURCHASE_OPTIONS, spanText, whenText } from '../model/format.ts';
import type { LifeLine, MarkKind, SpanKind } from '../model/life-line.ts';
import { Section } from '../parts/card.tsx';
import { numbers } from '../parts/table.tsx';
import { Legend, Numbers, useFrame } from './figure.tsx';
import type { Range } from './plot.tsx';

const TOP = 26;
const BAR = 26;
const BOTTOM = TOP + BAR;
const HEIGHT = 92;
const LEAST_WIDTH = 720;
const LETTER = 6.2;
/** Of the deadline. */
const LABEL = 130;

const NAMES: Partial<Record<SpanKind, string>> = { ...PURCHASE_OPTIONS, lost: 'lost work' };
const nameOf = (kind: SpanKind): string => NAMES[kind] ?? kind;

type CardProps = Readonly<{ line: LifeLine; range?: Range | undefined; now?: number | undefined }>;

/** @param range what is shown; absent: all @param now absent for a run that has ended */
export function LifeLineCard({ line, range = line, now }: CardProps) {
  const { from, to } = range;
  // A phone opens at now.
  const { width, frame } = useFrame(LEAST_WIDTH, now && (now - from) / (to - from));
  const x = (time: number): number => ((time - from) / (to - from)) * (width - 2) + 1;
  const placed = { line, x, width, now };
  const tools = (
    <>
      <Legend items={signsOf(line)} />
      <Numbers name="Life line" columns={COLUMNS} rows={() => rowsOf(line)} />
    </>
  );
  return (
    <Section title="Life line" tools={tools} kind="card pad stack">
      <div class="scroll" ref={frame} tabIndex={0} role="region" aria-label="life line, drawn">
        <svg class="life" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={labelOf(line)}>
          <defs>
            <pattern id="lost" width={6} height={6} patternUnits="userSpaceOnUse">
              <path stroke="var(--warn)" stroke-width={2} d="M-1 1l2-2M0 6l6-6M5 7l2-2" />
            </pattern>
            <linearGradient id="fan">
              <stop offset="0%" stop-color="var(--runs)" stop-opacity={0.22} />
              <stop offset="100%" stop-color="var(--runs)" stop-opacity={0} />
            </linearGradient>
          </defs>
          {ticksOf(range, width).map(({ time, text }) => (
            <text key={time} x={x(time)} y={HEIGHT - 6} text-anchor="middle">
              {text}
            </text>
          ))}
          <Fan {...placed} />
          <Spans {...placed} />
          <Marks {...placed} />
        </svg>
      </div>
    </Section>
  );
}

type Placed = Readonly<{
  line: LifeLine;
  x: (time: number) => number;
  width: number;
  now: number | undefined;
}>;

const MINUTE = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080];
const TICK_WIDTH = 90;

/** On round times of the reader's zone, away from both ends. */
function ticksOf({ from, to }: Range, width: number) {
  const steps = STEPS.map((each) => each * MINUTE);
  const step = steps.find((each) => (to - from) / each <= width / TICK_WIDTH) ?? to - from;
  const zone = new Date(from).getTimezoneOffset() * MINUTE;
  const edge = ((to - from) * 20) / width;
  const first = Math.ceil((from + edge - zone) / step) * step + zone;
  const count = Math.max(0, Math.floor((to - edge - first) / step) + 1);
  return Array.from({ length: count }, (_, place) => {
    const time = first + place * step;
    return { time, text: to - from > 1_440 * MINUTE ? whenText(time) : clockText(time) };
  });
}

const Spans = ({ line: { spans }, x }: Placed) => (
  <>
    {spans.map(({ kind, from, to, text, label = '' }) => {
      const [left, wide] = [x(from), Math.max(2, x(to) - x(from) - 1.5)];
      const words = label.split(' · ');
      const said = [label, words.slice(0, 2).join(' · '), words[0] ?? '', label.split(' ', 1)[0] ?? ''];
      return (
        <g key={`${kind} ${from}`}>
          <rect class={kind} x={left} y={TOP} width={wide} height={BAR} rx={3}>
            <title>{`${text}: ${elapsedText(from, to)}`}</title>
          </rect>
          <text class="in-bar" x={left + 7} y={TOP + 17}>
            {said.find((each) => each.length * LETTER <= wide - 14)}
          </text>
        </g>
      );
    })}
  </>
);

/** From the end of what is known until the finish becomes unlikely. */
function Fan({ line: { fan, spans }, x }: Placed) {
  if (fan === undefined) return null;
  const from = x(Math.max(...spans.map(({ to }) => to)));
  const high = x(fan.high);
  const text = fanText(fan);
  return (
    <g>
      <rect class="fan" x={from} y={TOP} width={Math.max(1, high - from)} height={BAR}>
        <title>{text}</title>
      </rect>
      <path stroke="var(--runs)" stroke-dasharray="2 2" d={`M${x(fan.expected)} ${TOP}V${BOTTOM}`} />
      <text x={from + 10} y={TOP + 17}>
        {text.length * LETTER < high - from && text}
      </text>
    </g>
  );
}

const fanText = ({ low, expected, high }: NonNullable<LifeLine['fan']>): string =>
  `done ${whenText(expected)}, ${spanText(low, high)}`;

function Marks({ line: { marks, deadline, due }, x, width, now }: Placed) {
  const dueAt = Math.min(width - 2, x(deadline ?? Number.MAX_VALUE));
  const isNear = now !== undefined && due !== undefined && Math.abs(x(now) - dueAt + LABEL / 2) < LABEL;
  return (
    <>
      {marks.map(({ kind, at, text }) => (
        <path key={`${kind} ${at} ${text}`} class={`mark-${kind}`} d={`M${x(at)} ${SHAPES[kind][0]}`}>
          <title>{`${whenText(at)}: ${text}`}</title>
        </path>
      ))}
      {now !== undefined && (
        <>
          <path class="mark-save" d={`M${x(now)} ${TOP - 6}V${BOTTOM + 6}`} />
          <text
            class="strong"
            x={Math.min(x(now), width - 14)}
            y={isNear ? HEIGHT - 22 : 12}
            text-anchor="middle"
          >
            now
          </text>
        </>
      )}
      {deadline !== undefined && (
        <path
          stroke="var(--bad)"
          stroke-width={1.5}
          stroke-dasharray="3 2"
          d={`M${dueAt} 16V${BOTTOM + 6}`}
        />
      )}
      {due !== undefined && (
        <text class="problem" x={dueAt} y={12} text-anchor="end">
          {`deadline ${whenText(due)}${deadline === undefined ? ' →' : ''}`}
        </text>
      )}
    </>
  );
}

/** Behind the place on the axis, and in the legend. */
const SHAPES: Readonly<Record<MarkKind, readonly [path: string, sign: string, text: string]>> = {
  save: [`${BOTTOM + 2}v7`, '|', 'save'],
  flag: [`${TOP - 2}v-11l8 4l-8 4z`, '⚑', 'warning or request'],
  doctor: [`${BOTTOM + 2}l5 8h-10z`, '▲', 'doctor'],
};

/** A reader who hears the page learns the outline; the table has the rest. */
function labelOf({ spans, marks }: LifeLine): string {
  const count = (...kinds: readonly string[]): number =>
    [...spans, ...marks].filter(({ kind }) => kinds.includes(kind)).length;
  return `life line of the run: ${count('spot', 'on-demand', 'reserved')} attempts, ${count('lost')} with lost work, ${count('save')} saves, ${count('flag')} warnings, ${count('doctor')} verdicts of the doctor`;
}

const signsOf = ({ spans, marks }: LifeLine) => [
  ...[...new Set(spans.map(({ kind }) => kind))].map(
    (kind) => [<span class={`key ${kind}`} />, nameOf(kind)] as const,
  ),
  ...[...new Set(marks.map(({ kind }) => kind))].map(
    (kind) => [<strong class={`mark-${kind}`}>{SHAPES[kind][1]}</strong>, SHAPES[kind][2]] as const,
  ),
];

const COLUMNS = ['what', 'kind', 'from', ...numbers('duration')];

const rowsOf = ({ spans, marks, due, fan }: LifeLine) =>
  [
    ...spans.map(({ kind, text, from, to }) => ({
      at: from,
      kind: nameOf(kind),
      text,
      took: elapsedText(from, to),
    })),
    ...marks,
    ...(fan === undefined ? [] : [{ at: fan.expected, kind: 'expected', text: fanText(fan) }]),
    ...(due === undefined ? [] : [{ at: due, kind: 'deadline', text: 'deadline' }]),
  ]
    .toSorted((a, b) => a.at - b.at)
    .map(({ text, kind, at, ...each }) => [text, kind, whenText(at), 'took' in each ? each.took : '']);
