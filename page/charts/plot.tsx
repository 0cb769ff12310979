/** Lines over an axis that other charts share, drawn by uPlot. */
import './language.ts';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { type AxisOfCurve, lonePoints } from '../model/curve.ts';
import type { Range } from './life-line.tsx';

const HEIGHT = 200;
/** The life line has the same margin, so that both share their axis. */
const AXIS_WIDTH = 60;

interface PlottedLine {
  readonly label: string;
  /** Name of the custom property that has its colour. */
  readonly colour: string;
  /** Colour alone does not tell lines apart. */
  readonly dash?: number[];
  /** Dots without a line. */
  readonly isDotted?: true;
}

interface PlotProps {
  /** What a reader hears. */
  readonly label: string;
  readonly axis: AxisOfCurve;
  /** Of time; with positions all is shown. */
  readonly range: Range;
  /** The reader has marked a part of the axis. */
  readonly onRange: (range: Range) => void;
  readonly lines: readonly PlottedLine[];
  /** x, then the values of each line. */
  readonly data: uPlot.AlignedData;
  readonly valueText: (value: number) => string;
  /** Of the values, where it does not follow from them. */
  readonly extent?: readonly [number, number];
}

export function Plot(props: PlotProps) {
  const { axis, range, data, lines, label } = props;
  const at = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shown = useRef(props);
  shown.current = props;
  useEffect(() => {
    const place = at.current;
    if (place === null) return undefined;
    const made = new uPlot(optionsOf(place, shown), shown.current.data, place);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }));
    resized.observe(place);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => made.redraw();
    dark.addEventListener('change', redraw);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', redraw);
      made.destroy();
    };
  }, [axis, lines.map((line) => line.label).join()]);
  useEffect(() => {
    plot.current?.setData(data, axis === 'position');
  }, [data, axis]);
  useEffect(() => {
    if (axis === 'time') plot.current?.setScale('x', { min: range.from / 1000, max: range.to / 1000 });
  }, [range.from, range.to, axis]);
  return <div ref={at} class="plot" role="img" aria-label={label} />;
}

/** `light-dark()` in a custom property stays unresolved, and a canvas does not know it. */
function resolved(name: string): string {
  const probe = document.getElementById('colour-probe');
  if (probe === null) return 'gray';
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

function optionsOf(place: HTMLElement, shown: { readonly current: PlotProps }): uPlot.Options {
  const { axis, lines, extent } = shown.current;
  const isTime = axis === 'time';
  const line = { stroke: () => resolved('--line'), width: 1 };
  const axes = { stroke: () => resolved('--quiet'), grid: line, ticks: line };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    padding: [8, 0, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: !isTime }, sync: { key: axis } },
    scales: {
      x: {
        time: isTime,
        ...(isTime && { range: () => [shown.current.range.from / 1000, shown.current.range.to / 1000] }),
      },
      ...(extent !== undefined && { y: { range: [...extent] } }),
    },
    axes: [
      axes,
      {
        ...axes,
        size: AXIS_WIDTH,
        values: (_, splits) => splits.map((each) => shown.current.valueText(each)),
      },
    ],
    series: [{}, ...lines.map(seriesOf)],
    hooks: {
      setSelect: [
        (self) => {
          if (!isTime || self.select.width < 2) return;
          const from = self.posToVal(self.select.left, 'x') * 1000;
          const to = self.posToVal(self.select.left + self.select.width, 'x') * 1000;
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          shown.current.onRange({ from, to });
        },
      ],
    },
  };
}

function seriesOf({ label, colour, dash, isDotted }: PlottedLine): uPlot.Series {
  const ink = (): string => resolved(colour);
  if (isDotted) return { label, stroke: ink, paths: () => null, points: { show: true, size: 4, fill: ink } };
  return {
    label,
    stroke: ink,
    width: 1.5,
    spanGaps: false,
    points: {
      show: false,
      filter: (self, series) => lonePoints(Array.from(self.data[series] ?? [])),
      size: 4,
      fill: ink,
    },
    ...(dash !== undefined && { dash }),
  };
}
