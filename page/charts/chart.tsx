/** The card of a chart: its name and values in one line, the plot, and behind a button its numbers and files. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Section } from '../parts/card.tsx';
import { Ends, Numbers, type NumbersProps, save } from './figure.tsx';
import { Plot, type PlotProps, resolved } from './plot.tsx';

/**
 * `last` is shown while the reader points to no other value. A large one has the whole width; `onSize` changes that.
 * `children` stand below.
 */
export type ChartProps = Omit<PlotProps, 'height' | 'onCursor'> &
  Readonly<{
    note?: string | undefined;
    last?: string;
    xText: (x: number) => string;
    table: NumbersProps;
    isLarge?: boolean;
    onSize?: () => void;
    children?: ComponentChildren;
  }>;

const HEIGHT = 124;
const LARGE_HEIGHT = 300;

export function Chart({ note, last = '', xText, table, isLarge, onSize, children, ...plot }: ChartProps) {
  const value = useSignal('');
  const { name, data, range } = plot;
  const [first, end] = range ? [range.from, range.to] : [data[0][0], data[0].at(-1)];
  const endText = (x: number | undefined): string => (x === undefined ? '' : xText(x));
  const point = (place: number | undefined): void => {
    value.value = pointedText({ ...plot, xText }, place);
  };
  const tools = (
    <>
      <strong>{value.value === '' ? last : value}</strong>
      <Numbers name={name} {...table}>
        <button type="submit" onClick={({ currentTarget }) => savePng(name, currentTarget.closest('.chart'))}>
          Save as PNG
        </button>
        {onSize && (
          <button type="submit" onClick={onSize}>
            {isLarge ? 'Smaller' : 'Larger'}
          </button>
        )}
      </Numbers>
    </>
  );
  return (
    <Section title={name} note={note} tools={tools} isFigure kind={`card chart${isLarge ? ' is-large' : ''}`}>
      <Plot {...plot} height={isLarge ? LARGE_HEIGHT : HEIGHT} onCursor={point} />
      <Ends of={[endText(first), endText(end)]} />
      {children}
    </Section>
  );
}

type Pointed = Pick<ChartProps, 'data' | 'lines' | 'valueText' | 'xText'>;

/** What the reader points to; empty where that is no place with a value. */
function pointedText({ data, lines, valueText, xText }: Pointed, place = -1): string {
  const x = data[0][place];
  const values = lines.flatMap(({ isFaint }, line) => {
    const y = isFaint ? undefined : data[line + 1]?.[place];
    return typeof y === 'number' ? [valueText(y)] : [];
  });
  return x === undefined || values.length === 0 ? '' : `${values.join(' · ')} at ${xText(x)}`;
}

const TITLE_HEIGHT = 28;

/** With its name, on the colour of the card. */
function savePng(name: string, card: Element | null): void {
  const drawn = card?.querySelector('canvas');
  const ends = [...(card?.querySelectorAll('.ends span') ?? [])].map((end) => end.textContent ?? '');
  const picture = document.createElement('canvas');
  const context = picture.getContext('2d');
  if (!drawn || context === null) return;
  const scale = devicePixelRatio;
  picture.width = drawn.width;
  picture.height = drawn.height + 2 * TITLE_HEIGHT * scale;
  context.fillStyle = resolved('--card');
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(drawn, 0, TITLE_HEIGHT * scale);
  context.scale(scale, scale);
  context.fillStyle = resolved('--ink');
  context.font = '620 13px system-ui, sans-serif';
  context.fillText(name, 8, 18);
  context.font = '11px system-ui, sans-serif';
  const bottom = picture.height / scale - 10;
  context.fillText(ends[0] ?? '', 46, bottom);
  context.textAlign = 'right';
  context.fillText(ends[1] ?? '', picture.width / scale - 6, bottom);
  picture.toBlob((content) => content && save(`${name}.png`, content));
}
