/** The card of a chart: its name and values in one line, the plot, and in a menu its numbers, files and command. */
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { evenly } from '../model/curve.ts';
import { Dialog } from '../parts/controls.tsx';
import { Table, type TableColumns } from '../parts/table.tsx';
import { Plot, type PlotProps, resolved } from './plot.tsx';

type Cell = string | number;

/**
 * `last` is shown while the reader points to no other value. `legend` says something of each line. A large one has the whole
 * width; `onSize` changes that.
 */
export type ChartProps = Omit<PlotProps, 'height' | 'onCursor'> &
  Readonly<{
    name: string;
    note?: string | undefined;
    last?: string;
    xText: (x: number) => string;
    table: Readonly<{ columns: TableColumns; rows: () => readonly (readonly Cell[])[] }>;
    legend?: readonly (string | undefined)[];
    isLarge?: boolean;
    onSize?: () => void;
  }>;

const HEIGHT = 124;
const LARGE_HEIGHT = 300;

export function Chart({ name, note, last = '', xText, table, legend, isLarge, onSize, ...plot }: ChartProps) {
  const value = useSignal('');
  const isTable = useSignal(false);
  const at = useRef<HTMLElement>(null);
  const { data, range } = plot;
  const [xs] = data;
  const ends = range ? [range.from, range.to] : [xs[0], xs.at(-1)];
  const point = (place: number | undefined): void => {
    value.value = pointedText({ ...plot, xText }, place);
  };
  return (
    <figure class={`card chart${isLarge ? ' is-large' : ''}`} ref={at}>
      <figcaption class="head">
        <h3 title={name}>{name}</h3>
        <span class="label" title={note}>
          {note}
        </span>
        <strong>{value.value === '' ? last : value}</strong>
        <Menu
          name={name}
          items={[
            ['Numbers as a table', () => (isTable.value = true)],
            ['Save as CSV', () => saveCsv(name, table)],
            ['Save as PNG', () => savePng(name, at.current)],
            ...(onSize ? [[isLarge ? 'Smaller' : 'Larger', onSize] as const] : []),
          ]}
        />
      </figcaption>
      <Plot {...plot} height={isLarge ? LARGE_HEIGHT : HEIGHT} onCursor={point} />
      <p class="ends">
        {ends.map((end, place) => (
          <span key={place}>{end !== undefined && xText(end)}</span>
        ))}
      </p>
      {legend && (
        <ul class="legend">
          {legend.map(
            (text, place) =>
              text && (
                <li key={text}>
                  <Swatch place={place} />
                  {text}
                </li>
              ),
          )}
        </ul>
      )}
      {isTable.value && (
        <Dialog title={name} isWide onClose={() => (isTable.value = false)}>
          <NumbersTable name={name} table={table} />
        </Dialog>
      )}
    </figure>
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

export const Swatch = ({ place }: Readonly<{ place: number }>) => (
  <svg class="swatch" viewBox="0 0 14 10" aria-hidden="true">
    <line class={`of-${place}`} x1={0} x2={14} y1={5} y2={5} />
  </svg>
);

const MOST_ROWS = 300;

function NumbersTable({ name, table: { columns, rows } }: Pick<ChartProps, 'name' | 'table'>) {
  const all = rows();
  const shown = evenly(all, MOST_ROWS);
  return (
    <>
      {shown.length < all.length && (
        <p class="quiet">
          {shown.length} of {all.length} points, evenly spread; the CSV has all.
        </p>
      )}
      <Table caption={`numbers of ${name}`} columns={columns} rows={shown} />
    </>
  );
}

type MenuProps = Readonly<{ name: string; items: readonly (readonly [string, () => void])[] }>;

const Menu = ({ name, items }: MenuProps) => (
  <details
    class="menu"
    onFocusOut={({ currentTarget, relatedTarget }) => {
      if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget)))
        currentTarget.open = false;
    }}
  >
    <summary aria-label={`more of ${name}`}>⋯</summary>
    <div>
      {items.map(([text, press]) => (
        <button
          key={text}
          type="button"
          onClick={({ currentTarget }) => {
            currentTarget.closest('details')?.removeAttribute('open');
            press();
          }}
        >
          {text}
        </button>
      ))}
    </div>
  </details>
);

/** As a file of the reader's. */
export function save(file: string, content: string | Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content]));
  link.download = file;
  link.click();
  URL.revokeObjectURL(link.href);
}

const fileName = (name: string): string => name.replaceAll(/[^\w.-]+/g, '-');

const quoted = (cell: Cell): string =>
  /[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell);

function saveCsv(name: string, { columns, rows }: ChartProps['table']): void {
  const titles = columns.map((column) => (typeof column === 'string' ? column : column.title));
  const text = [titles, ...rows()].map((row) => row.map(quoted).join(',')).join('\n');
  save(`${fileName(name)}.csv`, `${text}\n`);
}

const TITLE_HEIGHT = 28;

/** With its name, on the colour of the card. */
function savePng(name: string, card: HTMLElement | null): void {
  const drawn = card?.querySelector('canvas');
  const ends = [...(card?.querySelectorAll('.plot + .ends span') ?? [])].map((end) => end.textContent ?? '');
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
  picture.toBlob((content) => content && save(`${fileName(name)}.png`, content));
}
