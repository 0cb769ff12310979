/** The life line of a run, as SVG: what it did when. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { clockText, elapsedText, whenText } from '../model/format.ts';
import type { LifeLine, SpanKind } from '../model/life-line.ts';
import { Action } from '../parts/controls.tsx';
import { numbers, Table } from '../parts/table.tsx';
import type { Range } from './plot.tsx';

const TOP = 26;
const BAR = 26;
const BOTTOM = TOP + BAR;
const HEIGHT = 92;
const LEAST_WIDTH = 720;
const LETTER = 6.2;
/** Of the deadline. */
const LABEL = 130;

const NAMES: Readonly<Record<SpanKind, string>> = {
  settle: 'settle',
  pack: 'pack',
  place: 'place',
  start: 'start',
  spot: 'Spot',
  'on-demand': 'On-Demand',
  lost: 'lost work',
};

interface LifeLineProps {
  readonly line: LifeLine;
  /** What is shown; absent: all. */
  readonly range?: Range | undefined;
  /** Absent for a run that has ended. */
  readonly now?: number | undefined;
}

export function LifeLineCard({ line, range, now }: LifeLineProps) {
  const width = useSignal(LEAST_WIDTH);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = frame.current;
    if (place === null) return undefined;
    const resized = new ResizeObserver(() => {
      width.value = Math.max(LEAST_WIDTH, place.clientWidth);
      // A phone opens at now.
      place.scrollLeft = LEAST_WIDTH;
    });
    resized.observe(place);
    return () => resized.disconnect();
  }, []);
  const { from, to } = range ?? line;
  const x = (time: number): number => ((time - from) / (to - from)) * (width.value - 2) + 1;
  const placed = { line, x, width: width.value };
  return (
    <section class="card pad stack" aria-label="life line">
      <div class="head">
        <h2>Life line</h2>
        <span class="tools">
          <Legend line={line} />
          <Action text="As a table" title="Life line" isWide>
            {() => <Spoken line={line} />}
          </Action>
        </span>
      </div>
      <div class="life-frame" ref={frame} tabIndex={0} role="region" aria-label="life line">
        <svg class="life" viewBox={`0 0 ${width.value} ${HEIGHT}`} role="img" aria-label={labelOf(line)}>
          <defs>
            <pattern
              id="lost"
              width={6}
              height={6}
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <line class="hatch" x1={0} y1={0} x2={0} y2={6} />
            </pattern>
            <linearGradient id="fan">
              <stop offset="0%" stop-color="var(--runs)" stop-opacity={0.22} />
              <stop offset="100%" stop-color="var(--runs)" stop-opacity={0} />
            </linearGradient>
          </defs>
          <Ticks from={from} to={to} x={x} width={width.value} />
          <Fan {...placed} />
          <Spans {...placed} />
          <Marks {...placed} now={now} />
        </svg>
      </div>
    </section>
  );
}

interface Placed {
  readonly line: LifeLine;
  readonly x: (time: number) => number;
  readonly width: number;
}

const MINUTE = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080].map(
  (each) => each * MINUTE,
);
const TICK_WIDTH = 90;

function Ticks({ from, to, x, width }: Range & Omit<Placed, 'line'>) {
  const step = STEPS.find((each) => (to - from) / each <= width / TICK_WIDTH) ?? to - from;
  const zone = new Date(from).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((from - zone) / step) * step + zone;
  const times = Array.from(
    { length: Math.max(0, Math.floor((to - first) / step) + 1) },
    (_, place) => first + place * step,
  );
  const text = to - from > 1_440 * MINUTE ? whenText : (time: number) => clockText(time);
  return (
    <>
      {times
        .filter((time) => x(time) > 16 && x(time) < width - 24)
        .map((time) => (
          <text key={time} x={x(time)} y={HEIGHT - 6} text-anchor="middle">
            {text(time)}
          </text>
        ))}
    </>
  );
}

const Spans = ({ line: { spans }, x }: Placed) => (
  <>
    {spans.map(({ kind, from, to, text, label = '' }) => {
      const [left, wide] = [x(from), Math.max(2, x(to) - x(from) - 1.5)];
      const fits = Math.floor((wide - 14) / LETTER);
      const words = label.split(' · ');
      const said = [
        words.join(' · '),
        words.slice(0, 2).join(' · '),
        words[0] ?? '',
        label.split(' ', 1)[0] ?? '',
      ];
      return (
        <g key={`${kind} ${from}`}>
          <rect class={kind} x={left} y={TOP} width={wide} height={BAR} rx={3}>
            <title>{`${text}: ${elapsedText(from, to)}`}</title>
          </rect>
          <text class="in-bar" x={left + 7} y={TOP + 17} pointer-events="none">
            {said.find((each) => each.length <= fits)}
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
  const [expected, high] = [x(fan.expected), x(fan.high)];
  const text = fanText(fan);
  return (
    <g>
      <rect class="fan" fill="url(#fan)" x={from} y={TOP} width={Math.max(1, high - from)} height={BAR}>
        <title>{text}</title>
      </rect>
      <line class="expected" x1={expected} x2={expected} y1={TOP} y2={BOTTOM} />
      {text.length * LETTER < high - from && (
        <text x={from + 10} y={TOP + 17} pointer-events="none">
          {text}
        </text>
      )}
    </g>
  );
}

const fanText = ({ low, expected, high }: NonNullable<LifeLine['fan']>): string =>
  `done ${whenText(expected)}, between ${whenText(low)} and ${whenText(high)}`;

function Marks({ line, x, width, now }: Placed & Pick<LifeLineProps, 'now'>) {
  const { deadline, due, saves, flags, verdicts } = line;
  const dueAt = Math.min(width - 2, x(deadline ?? Number.MAX_VALUE));
  const isNear = now !== undefined && due !== undefined && Math.abs(x(now) - dueAt + LABEL / 2) < LABEL;
  return (
    <>
      {saves.map(({ at, step }) => (
        <Upright
          key={at}
          name="mark"
          at={x(at)}
          from={BOTTOM + 2}
          to={BOTTOM + 8}
          text={`saved ${step}: ${whenText(at)}`}
        />
      ))}
      {flags.map(({ at, text }) => (
        <path key={`${at} ${text}`} class="flag" d={`M${x(at)} ${TOP - 2}v-11l8 4l-8 4z`}>
          <title>{`${whenText(at)}: ${text}`}</title>
        </path>
      ))}
      {verdicts.map(({ at, text }) => (
        <path key={text} class="verdict" d={`M${x(at)} ${BOTTOM + 2}l5 8h-10z`}>
          <title>{`${whenText(at)}: ${text}`}</title>
        </path>
      ))}
      {now !== undefined && (
        <>
          <Upright name="now" at={x(now)} from={TOP - 6} to={BOTTOM + 6} text="now" />
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
        <Upright
          name="deadline"
          at={x(deadline)}
          from={16}
          to={BOTTOM + 6}
          text={`deadline: ${whenText(deadline)}`}
        />
      )}
      {due !== undefined && (
        <text class="due" x={dueAt} y={12} text-anchor="end">
          {`deadline ${whenText(due)}${deadline === undefined ? ' →' : ''}`}
        </text>
      )}
    </>
  );
}

interface UprightProps {
  readonly name: string;
  readonly at: number;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const Upright = ({ name, at, from, to, text }: UprightProps) => (
  <line class={name} x1={at} x2={at} y1={from} y2={to}>
    <title>{text}</title>
  </line>
);

/** A reader who hears the page learns the outline; the table has the rest. */
function labelOf({ spans, saves, flags, verdicts }: LifeLine): string {
  const attempts = spans.filter(({ kind }) => kind === 'spot' || kind === 'on-demand').length;
  const lost = spans.filter(({ kind }) => kind === 'lost').length;
  return `life line of the run: ${attempts} attempts, ${lost} with lost work, ${saves.length} saves, ${flags.length} warnings, ${verdicts.length} verdicts of the doctor`;
}

const Legend = ({ line: { spans, flags, verdicts, saves } }: { readonly line: LifeLine }) => (
  <ul class="legend">
    {[...new Set(spans.map(({ kind }) => kind))].map((kind) => (
      <Key key={kind} text={NAMES[kind]}>
        <rect class={kind} width={10} height={10} rx={2} />
      </Key>
    ))}
    {saves.length > 0 && <Key text="save">{<line class="mark" x1={5} x2={5} y1={0} y2={10} />}</Key>}
    {flags.length > 0 && <Key text="warning or request">{<path class="flag" d="M2 10V0l8 4l-8 4z" />}</Key>}
    {verdicts.length > 0 && <Key text="doctor">{<path class="verdict" d="M5 1l5 8h-10z" />}</Key>}
  </ul>
);

const Key = ({ text, children }: { readonly text: string; readonly children: ComponentChildren }) => (
  <li>
    <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
      {children}
    </svg>
    {text}
  </li>
);

function Spoken({ line: { spans, saves, flags, verdicts, due, fan } }: { readonly line: LifeLine }) {
  const moment = (kind: string, at: number | undefined, text: string) =>
    at === undefined ? [] : [{ at, row: [text, kind, whenText(at), ''] }];
  const all = [
    ...spans.map(({ text, kind, from, to }) => ({
      at: from,
      row: [text, NAMES[kind], whenText(from), elapsedText(from, to)],
    })),
    ...saves.flatMap(({ at, step }) => moment('save', at, `saved ${step}`)),
    ...flags.flatMap(({ at, text }) => moment('flag', at, text)),
    ...verdicts.flatMap(({ at, text }) => moment('doctor', at, text)),
    ...(fan === undefined ? [] : moment('expected', fan.expected, fanText(fan))),
    ...moment('deadline', due, 'deadline'),
  ];
  return (
    <Table
      caption="spans of the life line"
      columns={['what', 'kind', 'from', ...numbers('duration')]}
      rows={all.toSorted((a, b) => a.at - b.at).map(({ row }) => row)}
    />
  );
}
