/** Lines over an axis that other charts share, drawn by uPlot. */
import './language.ts';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { lonePoints } from '../model/curve.ts';

/** The part of an axis that is shown, in its own unit. */
export type Range = Readonly<{ from: number; to: number }>;

/**
 * `colour` is a custom property; as colour alone does not tell lines apart, others are dashed, or are dots without a line. A
 * faint one stands behind another.
 */
type PlottedLine = Readonly<{ label: string; colour: string; dash?: number[] }> &
  Readonly<{ isDotted?: true; isFaint?: true }>;

/** Looks of lines beside each other. */
export const LOOKS: readonly Pick<PlottedLine, 'colour' | 'dash'>[] = [
  { colour: '--runs', dash: [] },
  { colour: '--on-demand', dash: [8, 3] },
  { colour: '--spot', dash: [2, 3] },
  { colour: '--bad', dash: [10, 3, 2, 3] },
  { colour: '--warn', dash: [5, 5] },
  { colour: '--quiet', dash: [1, 4] },
];

/** A line of a legend, by its place in `LOOKS`. */
export function Swatch({ place }: Readonly<{ place: number }>) {
  const { colour, dash } = LOOKS[place] ?? {};
  return (
    <svg width={14} height={10} stroke={`var(${colour})`} stroke-width={1.5} aria-hidden="true">
      <path stroke-dasharray={dash?.join(' ')} d="M0 5H14" />
    </svg>
  );
}

/**
 * Charts of one `axis` share their cursor, which `onCursor` follows. `range` absent: all. `data` has x, then the values of
 * each line; `marks` are dotted lines from top to bottom; `extent` is of the values, where it does not follow from them.
 */
export type PlotProps = Readonly<{
  name: string;
  axis: string;
  range?: Range | undefined;
  onRange?: (range: Range) => void;
  lines: readonly PlottedLine[];
  data: uPlot.AlignedData;
  marks?: readonly number[];
  valueText: (value: number) => string;
  extent?: readonly [number, number];
  isLog?: boolean;
  height: number;
  onCursor?: (place: number | undefined) => void;
}>;

const AXIS_WIDTH = 46;
const FONT = '11px system-ui, sans-serif';

export function Plot(props: PlotProps) {
  const { name, axis, range, data, lines, height, isLog } = props;
  const at = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shown = useRef(props);
  shown.current = props;
  useEffect(() => {
    const place = at.current;
    if (place === null) return undefined;
    const made = new uPlot(optionsOf(place, shown), shown.current.data, place);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height }));
    resized.observe(place);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.onchange = () => made.redraw();
    return () => {
      resized.disconnect();
      dark.onchange = null;
      made.destroy();
    };
  }, [axis, height, isLog, lines.map((line) => line.label).join()]);
  useEffect(() => {
    // The range of x follows from the data, or from the part that is marked.
    plot.current?.setData(data);
    // New marks too, where no new data widens a range.
    plot.current?.redraw(false, true);
  }, [data, range?.from, range?.to]);
  return <div ref={at} class="plot" style={{ height }} role="img" aria-label={`${name} by ${axis}`} />;
}

/** `light-dark()` in a custom property stays unresolved, and a canvas does not know it. */
export function resolved(name: string): string {
  const probe = document.getElementById('colour-probe');
  if (probe === null) return 'gray';
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** Lines of other places each, over all of their places. */
export const joined = (tables: [x: number[], y: number[]][]): uPlot.AlignedData => uPlot.join(tables);

type Shown = Readonly<{ current: PlotProps }>;

function optionsOf(place: HTMLElement, shown: Shown): uPlot.Options {
  const { axis, lines, extent, height, isLog } = shown.current;
  return {
    width: place.clientWidth,
    height,
    padding: [8, 6, 4, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false, setScale: false }, sync: { key: axis } },
    scales: {
      x: { time: false, range: (_, low, high) => rangeOf(shown, low, high) },
      y: { ...(isLog && { distr: 3 }), ...(extent !== undefined && { range: [...extent] }) },
    },
    axes: [
      // Its grid are the marks.
      {
        splits: (_, __, low, high) => shown.current.marks?.filter((x) => low <= x && x <= high) ?? [],
        values: () => [],
        grid: gridOf('--warn', 3 * devicePixelRatio, 3 * devicePixelRatio),
        ticks: { show: false },
        size: 0,
      },
      {
        stroke: () => resolved('--quiet'),
        grid: gridOf('--line'),
        ticks: { show: false },
        font: FONT,
        gap: 6,
        space: 28,
        size: AXIS_WIDTH,
        values: (_, splits) => splits.map((each) => (each === null ? '' : shown.current.valueText(each))),
      },
    ],
    series: [{}, ...lines.map(seriesOf)],
    hooks: {
      setCursor: [({ cursor }) => shown.current.onCursor?.(cursor.idx ?? undefined)],
      setSelect: [(self) => select(self, shown.current)],
    },
  };
}

const gridOf = (colour: string, ...dash: number[]) => ({ stroke: () => resolved(colour), dash, width: 1 });

function rangeOf({ current: { range } }: Shown, low: number, high: number): [number, number] {
  if (range !== undefined) return [range.from, range.to];
  return low === high ? [low - 1, high + 1] : [low, high];
}

function select(self: uPlot, { onRange }: PlotProps): void {
  const { left, width } = self.select;
  if (width < 2) return;
  self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onRange?.({ from: self.posToVal(left, 'x'), to: self.posToVal(left + width, 'x') });
}

function seriesOf({ label, colour, dash, isDotted, isFaint }: PlottedLine): uPlot.Series {
  const stroke = (): string => resolved(colour);
  if (isDotted) return { label, stroke, paths: () => null, points: { show: true, size: 2.5, fill: stroke } };
  const filter = (self: uPlot, series: number) => lonePoints(Array.from(self.data[series] ?? []));
  return {
    label,
    stroke,
    width: isFaint ? 1 : 1.75,
    alpha: isFaint ? 0.35 : 1,
    spanGaps: false,
    points: { show: false, filter, size: 4, fill: stroke },
    ...(dash !== undefined && { dash }),
  };
}
