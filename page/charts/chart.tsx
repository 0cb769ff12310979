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
  Readonly<{ note?: string | undefined; last?: string; isLarge?: boolean; onSize?: () => void }> &
  Readonly<{ xText: (x: number) => string; table: NumbersProps; children?: ComponentChildren }>;

const [HEIGHT, LARGE_HEIGHT, TITLE_HEIGHT] = [124, 300, 28];

export function Chart({ note, last = '', xText, table, isLarge, onSize, children, ...plot }: ChartProps) {
  const value = useSignal('');
  const { name, data, range, lines, valueText } = plot;
  const ends = range ? [range.from, range.to] : [data[0][0], data[0].at(-1)];
  const endTexts = ends.map((x) => (x === undefined ? '' : xText(x)));
  /** What the reader points to; empty where that is no place with a value. */
  const point = (place = -1): void => {
    const x = data[0][place];
    const values = lines.flatMap(({ isFaint }, line) => {
      const y = isFaint ? undefined : data[line + 1]?.[place];
      return typeof y === 'number' ? [valueText(y)] : [];
    });
    value.value = x === undefined || values.length === 0 ? '' : `${values.join(' · ')} at ${xText(x)}`;
  };
  const tools = (
    <>
      <strong>{value.value === '' ? last : value}</strong>
      <Numbers name={name} {...table}>
        <button type="submit" onClick={({ target }) => savePng(name, endTexts, target)}>
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
    <Section title={name} note={note} tools={tools} isFigure kind={`chart${isLarge ? ' is-large' : ''}`}>
      <Plot {...plot} height={isLarge ? LARGE_HEIGHT : HEIGHT} onCursor={point} />
      <Ends of={endTexts} />
      {children}
    </Section>
  );
}

/** With its name and the names of its ends, on the colour of the card. */
function savePng(name: string, ends: readonly string[], pressed: EventTarget | null): void {
  const drawn = pressed instanceof Element && pressed.closest('.chart')?.querySelector('canvas');
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
