/** The life line of a run, as SVG: what it did when, on the axis of time that its curves share. */
import { elapsedText, timeText } from '../model/format.ts';
import type { LifeLine, SpanKind } from '../model/life-line.ts';
import { Numbers, numbers, Table } from '../parts/table.tsx';

/** The part of an axis that is shown, in milliseconds. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

const WIDTH = 1000;
const BAR_TOP = 18;
const BAR_HEIGHT = 26;
const HEIGHT = BAR_TOP + BAR_HEIGHT + 14;

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
  readonly range: Range;
}

export function LifeLineChart({ line, range }: LifeLineProps) {
  const x = (time: number): number => ((time - range.from) / (range.to - range.from)) * WIDTH;
  return (
    <figure class="life">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        class="life-line"
        role="img"
        aria-label={labelOf(line)}
      >
        <defs>
          <pattern id="lost" width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <line class="hatch" x1={0} y1={0} x2={0} y2={6} />
          </pattern>
        </defs>
        <Fan line={line} x={x} />
        <Spans line={line} x={x} />
        <Marks line={line} x={x} />
      </svg>
      <p class="ends">
        <span>{timeText(range.from)}</span>
        <span>{timeText(range.to)}</span>
      </p>
      <Legend line={line} />
      <Numbers id="life-line-numbers">{() => <Spoken line={line} />}</Numbers>
    </figure>
  );
}

interface Placed {
  readonly line: LifeLine;
  readonly x: (time: number) => number;
}

const Spans = ({ line, x }: Placed) => (
  <>
    {line.spans.map(({ kind, from, to, text }) => (
      <rect
        key={`${kind} ${from}`}
        class={kind}
        x={x(from)}
        y={BAR_TOP}
        width={Math.max(1, x(to) - x(from))}
        height={BAR_HEIGHT}
      >
        <title>{`${text}: ${elapsedText(from, to)}`}</title>
      </rect>
    ))}
  </>
);

/** From the end of what is known, ever wider: the projected finish. */
function Fan({ line: { fan, spans }, x }: Placed) {
  if (fan === undefined) return null;
  const from = x(Math.max(...spans.map(({ to }) => to)));
  const middle = BAR_TOP + BAR_HEIGHT / 2;
  const [low, expected, high] = [x(fan.low), x(fan.expected), x(fan.high)];
  const bottom = BAR_TOP + BAR_HEIGHT;
  return (
    <g>
      <path class="fan" d={`M${from} ${middle}L${low} ${BAR_TOP}H${high}V${bottom}H${low}Z`}>
        <title>{fanText(fan)}</title>
      </path>
      <line class="expected" x1={expected} x2={expected} y1={BAR_TOP - 4} y2={bottom + 4} />
    </g>
  );
}

const fanText = ({ low, expected, high }: NonNullable<LifeLine['fan']>): string =>
  `expected to end ${timeText(expected)}; 90 % between ${timeText(low)} and ${timeText(high)}`;

function Marks({ line, x }: Placed) {
  const { deadline, saves, flags, verdicts } = line;
  return (
    <>
      {saves.map(({ at, step }) => (
        <Upright key={at} name="mark" at={x(at)} text={`saved ${step}: ${timeText(at)}`} />
      ))}
      {flags.map(({ at, text }) => (
        <path key={`${at} ${text}`} class="flag" d={`M${x(at)} ${BAR_TOP - 2}v-14l8 5l-8 5z`}>
          <title>{`${timeText(at)}: ${text}`}</title>
        </path>
      ))}
      {verdicts.map(({ at, text }) => (
        <path key={text} class="verdict" d={`M${x(at)} ${BAR_TOP + BAR_HEIGHT + 2}l6 11h-12z`}>
          <title>{`${timeText(at)}: ${text}`}</title>
        </path>
      ))}
      {deadline !== undefined && (
        <Upright name="deadline" at={x(deadline)} text={`deadline: ${timeText(deadline)}`} />
      )}
    </>
  );
}

const Upright = ({
  name,
  at,
  text,
}: {
  readonly name: string;
  readonly at: number;
  readonly text: string;
}) => (
  <line class={name} x1={at} x2={at} y1={BAR_TOP - 6} y2={BAR_TOP + BAR_HEIGHT + 6}>
    <title>{text}</title>
  </line>
);

/** A reader who hears the page learns the outline; the table has the rest. */
function labelOf({ spans, saves, flags, verdicts }: LifeLine): string {
  const attempts = spans.filter(({ kind }) => kind === 'spot' || kind === 'on-demand').length;
  const lost = spans.filter(({ kind }) => kind === 'lost').length;
  return `life line of the run: ${attempts} attempts, ${lost} with lost work, ${saves.length} saves, ${flags.length} warnings, ${verdicts.length} verdicts of the doctor`;
}

const Legend = ({ line: { spans, deadline, flags, verdicts, saves, fan } }: { readonly line: LifeLine }) => (
  <ul class="legend">
    {[...new Set(spans.map(({ kind }) => kind))].map((kind) => (
      <li key={kind}>
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <rect class={kind} width={12} height={12} />
        </svg>
        {NAMES[kind]}
      </li>
    ))}
    {saves.length > 0 && <Key text="save">{<line class="mark" x1={6} x2={6} y1={0} y2={12} />}</Key>}
    {flags.length > 0 && <Key text="warning or request">{<path class="flag" d="M3 12V0l8 4l-8 4z" />}</Key>}
    {verdicts.length > 0 && <Key text="doctor">{<path class="verdict" d="M6 0l6 12h-12z" />}</Key>}
    {fan !== undefined && <Key text="expected end, 90 %">{<rect class="fan" width={12} height={12} />}</Key>}
    {deadline !== undefined && (
      <Key text="deadline">{<line class="deadline" x1={6} x2={6} y1={0} y2={12} />}</Key>
    )}
  </ul>
);

const Key = ({ text, children }: { readonly text: string; readonly children: preact.JSX.Element }) => (
  <li>
    <svg viewBox="0 0 12 12" aria-hidden="true">
      {children}
    </svg>
    {text}
  </li>
);

function Spoken({ line: { spans, saves, flags, verdicts, deadline, fan } }: { readonly line: LifeLine }) {
  const all = [
    ...spans.map(({ text, kind, from, to }) => ({
      at: from,
      row: [text, NAMES[kind], timeText(from), elapsedText(from, to)],
    })),
    ...saves.map(({ at, step }) => ({ at, row: [`saved ${step}`, 'save', timeText(at), ''] })),
    ...flags.map(({ at, text }) => ({ at, row: [text, 'flag', timeText(at), ''] })),
    ...verdicts.map(({ at, text }) => ({ at, row: [text, 'doctor', timeText(at), ''] })),
    ...(fan === undefined
      ? []
      : [{ at: fan.expected, row: [fanText(fan), 'expected', timeText(fan.expected), ''] }]),
    ...(deadline === undefined
      ? []
      : [{ at: deadline, row: ['deadline', 'deadline', timeText(deadline), ''] }]),
  ];
  const rows = all.toSorted((a, b) => a.at - b.at).map(({ row }) => row);
  return (
    <Table
      caption="spans of the life line"
      columns={['what', 'kind', 'from', ...numbers('duration')]}
      rows={rows}
    />
  );
}
