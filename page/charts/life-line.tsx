/** The life line of a run, as SVG: what it did when. */
import { elapsedText, whenText } from '../model/format.ts';
import * as life from '../model/life-line.ts';
import { Section } from '../parts/card.tsx';
import { numbers } from '../parts/table.tsx';
import { Legend, Numbers, useFrame } from './figure.tsx';
import type { Range } from './plot.tsx';

const [TOP, BAR, HEIGHT, LEAST_WIDTH, LETTER] = [26, 26, 92, 720, 6.2];
const BOTTOM = TOP + BAR;
const FOOT = BOTTOM + 6;
/** Of the deadline. */
const LABEL = 130;
const COLUMNS = ['what', 'kind', 'from', ...numbers('duration')];

type CardProps = Readonly<{ line: life.LifeLine; range?: Range | undefined; now?: number | undefined }>;

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
      <Numbers name="Life line" columns={COLUMNS} rows={() => life.lineRows(line)} />
    </>
  );
  return (
    <Section title="Life line" tools={tools} kind="stack">
      <div class="scroll" ref={frame} tabIndex={0} role="region" aria-label="life line, drawn">
        <svg class="life" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={life.labelOf(line)}>
          <defs>
            <pattern id="lost" width={6} height={6} patternUnits="userSpaceOnUse">
              <path stroke="var(--warn)" stroke-width={2} d="M-1 1l2-2M0 6l6-6M5 7l2-2" />
            </pattern>
            <linearGradient id="fan">
              <stop offset="0%" stop-color="var(--runs)" stop-opacity={0.22} />
              <stop offset="100%" stop-color="var(--runs)" stop-opacity={0} />
            </linearGradient>
          </defs>
          {life.ticksOf(range, width).map(({ time, text }) => (
            <text key={time} x={x(time)} y={HEIGHT - 6} text-anchor="middle">
              {text}
            </text>
          ))}
          <Spans {...placed} />
          <Marks {...placed} />
        </svg>
      </div>
    </Section>
  );
}

type Placed = CardProps & Readonly<{ x: (time: number) => number; width: number }>;

/** As much of it as fits is shown. */
function shortened(label = ''): readonly string[] {
  const words = label.split(' · ');
  return [label, words.slice(0, 2).join(' · '), words[0] ?? '', label.split(' ', 1)[0] ?? ''];
}

/** The fan goes from the end of what is known until the finish becomes unlikely. */
function Spans({ line: { spans, fan }, x }: Placed) {
  const known = Math.max(...spans.map(({ to }) => to));
  const said = fan ? life.fanText(fan) : '';
  const ahead = { kind: 'fan', from: known, to: fan?.high ?? known, title: said, labels: [said] };
  const bars = spans.map(({ kind, from, to, text, label }) => {
    return { kind, from, to, title: `${text}: ${elapsedText(from, to)}`, labels: shortened(label) };
  });
  return (
    <>
      {[...bars, ...(fan ? [ahead] : [])].map(({ kind, from, to, title, labels }) => {
        const [left, wide] = [x(from), Math.max(2, x(to) - x(from) - 1.5)];
        return (
          <g key={`${kind} ${from}`}>
            <rect class={kind} x={left} y={TOP} width={wide} height={BAR} rx={3}>
              <title>{title}</title>
            </rect>
            <text class={kind === 'fan' ? undefined : 'in-bar'} x={left + 7} y={TOP + 17}>
              {labels.find((each) => each.length * LETTER <= wide - 14)}
            </text>
          </g>
        );
      })}
      {fan && <path stroke="var(--runs)" stroke-dasharray="2 2" d={`M${x(fan.expected)} ${TOP}V${BOTTOM}`} />}
    </>
  );
}

function Marks({ line: { marks, deadline, due }, x, width, now = Number.NaN }: Placed) {
  const dueAt = Math.min(width - 2, x(deadline ?? Number.MAX_VALUE));
  const nowAt = x(now);
  const isNear = due !== undefined && Math.abs(nowAt - dueAt + LABEL / 2) < LABEL;
  return (
    <>
      {marks.map(({ kind, at, text }) => (
        <path key={`${kind} ${at} ${text}`} class={`mark-${kind}`} d={`M${x(at)} ${SHAPES[kind][0]}`}>
          <title>{`${whenText(at)}: ${text}`}</title>
        </path>
      ))}
      {now > 0 && (
        <>
          <path class="mark-save" d={`M${nowAt} ${TOP - 6}V${FOOT}`} />
          <text class="strong" x={Math.min(nowAt, width - 14)} y={isNear ? 70 : 12} text-anchor="middle">
            now
          </text>
        </>
      )}
      {deadline !== undefined && (
        <path stroke="var(--bad)" stroke-width={1.5} stroke-dasharray="3 2" d={`M${dueAt} 16V${FOOT}`} />
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
const SHAPES: Readonly<Record<life.MarkKind, readonly [path: string, sign: string, text: string]>> = {
  save: [`${BOTTOM + 2}v7`, '|', 'save'],
  flag: [`${TOP - 2}v-11l8 4l-8 4z`, '⚑', 'warning or request'],
  doctor: [`${BOTTOM + 2}l5 8h-10z`, '▲', 'doctor'],
};

const kindsOf = <Kind,>(all: readonly { kind: Kind }[]) => [...new Set(all.map(({ kind }) => kind))];

const signsOf = ({ spans, marks }: life.LifeLine) => [
  ...kindsOf(spans).map((kind) => [<span class={`key ${kind}`} />, life.spanName(kind)] as const),
  ...kindsOf(marks).map((kind) => [<strong>{SHAPES[kind][1]}</strong>, SHAPES[kind][2]] as const),
];
