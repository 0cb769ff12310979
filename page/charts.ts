/** The charts of a run, as SVG. Each has its numbers as a table beside it. */
import { element, numbers, svg, table } from './element.ts';
import { durationText, timeText } from './format.ts';
import type { LifeLine, SpanKind } from './life-line.ts';

/** The part of an answer of `GET /runs/{runId}/series` that is drawn. */
export interface SeriesView {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly PointView[];
  readonly lost: readonly PointView[];
}
interface PointView {
  readonly position: number;
  readonly value: number;
  readonly at: string;
  readonly attempt: number;
}

const WIDTH = 1000;
const BAR_TOP = 18;
const BAR_HEIGHT = 26;
const CURVE_HEIGHT = 180;

const NAMES: Readonly<Record<SpanKind, string>> = {
  settle: 'settle',
  pack: 'pack',
  place: 'place',
  start: 'start',
  spot: 'Spot',
  'on-demand': 'On-Demand',
  lost: 'lost work',
};

const hatch = (): SVGElement =>
  svg(
    'defs',
    {},
    svg(
      'pattern',
      { id: 'lost', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      svg('line', { class: 'hatch', x1: 0, y1: 0, x2: 0, y2: 6 }),
    ),
  );

export function lifeLineChart(line: LifeLine): HTMLElement[] {
  const x = (time: number): number => ((time - line.from) / (line.to - line.from)) * WIDTH;
  const bars = line.spans.map(({ kind, from, to, text }) =>
    svg(
      'rect',
      { class: kind, x: x(from), y: BAR_TOP, width: Math.max(1, x(to) - x(from)), height: BAR_HEIGHT },
      svg('title', {}, `${text}: ${durationText(to - from)}`),
    ),
  );
  const upright = (name: string, at: number, text: string): SVGElement =>
    svg(
      'line',
      { class: name, x1: x(at), x2: x(at), y1: BAR_TOP - 6, y2: BAR_TOP + BAR_HEIGHT + 6 },
      svg('title', {}, text),
    );
  const marks = line.saves.map(({ at, step }) => upright('mark', at, `saved ${step}: ${timeText(at)}`));
  if (line.deadline !== undefined)
    marks.push(upright('deadline', line.deadline, `deadline: ${timeText(line.deadline)}`));
  const chart = svg(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${BAR_TOP + BAR_HEIGHT + 8}`,
      preserveAspectRatio: 'none',
      class: 'life-line',
      role: 'img',
      'aria-label': 'life line of the run',
    },
    hatch(),
    ...bars,
    ...marks,
  );
  const ends = element(
    'p',
    { class: 'ends' },
    element('span', {}, timeText(line.from)),
    element('span', {}, timeText(line.to)),
  );
  return [element('div', {}, chart), ends, legend(line), numbers('life-line-numbers', spansTable(line))];
}

function legend({ spans }: LifeLine): HTMLElement {
  const kinds = [...new Set(spans.map(({ kind }) => kind))];
  const items = kinds.map((kind) => {
    const swatch = svg('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true' });
    swatch.append(svg('rect', { class: kind, width: 12, height: 12 }));
    return element('li', {}, swatch, NAMES[kind]);
  });
  return element('ul', { class: 'legend' }, ...items);
}

const spansTable = ({ spans }: LifeLine): HTMLElement =>
  table(
    'spans of the life line',
    ['what', 'kind', 'from', 'duration'],
    spans.map(({ text, kind, from, to }) => [text, NAMES[kind], timeText(from), durationText(to - from)]),
    [3],
  );

/** One curve over all attempts; what an interruption lost is dotted beside it. */
export function curveChart({ name, unit, ...all }: SeriesView): HTMLElement[] {
  // A script may print NaN, which no axis has.
  const [points = [], lost = []] = [all.points, all.lost].map((some) =>
    some.filter(({ value }) => Number.isFinite(value)),
  );
  return points.length + lost.length === 0 ? [] : drawn({ name, unit, points, lost });
}

function drawn({ name, unit, points, lost }: SeriesView): HTMLElement[] {
  const all = [...points, ...lost];
  const [left, right] = extent(all.map(({ position }) => position));
  const [low, high] = extent(all.map(({ value }) => value));
  const place = ({ position, value }: PointView): readonly [number, number] => [
    ((position - left) / (right - left || 1)) * WIDTH,
    CURVE_HEIGHT - 2 - ((value - low) / (high - low || 1)) * (CURVE_HEIGHT - 4),
  ];
  const path = points.map((point) => place(point).join(',')).join(' ');
  const dots = lost.map((point) => {
    const [cx, cy] = place(point);
    return svg('circle', { class: 'redone', cx, cy, r: 2 });
  });
  const chart = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${CURVE_HEIGHT}`, role: 'img', 'aria-label': `${name} by ${unit}` },
    svg('polyline', { class: 'curve', points: path }),
    ...dots,
  );
  const rows = points.map(({ position, value, attempt, at }) => [
    String(position),
    String(value),
    String(attempt),
    timeText(at),
  ]);
  const shown = table(`numbers of ${name}`, [unit, name, 'attempt', 'time'], rows, [0, 1, 2]);
  return [
    element('h2', {}, `${name}, all attempts`),
    element('div', {}, chart),
    element('p', { class: 'quiet' }, `${low} to ${high}, ${unit} ${left} to ${right}`),
    numbers(`numbers-${name}`, shown),
  ];
}

function extent(values: readonly number[]): readonly [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}
