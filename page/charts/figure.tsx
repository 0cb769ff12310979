/** What belongs to a drawing: its frame, its numbers as a table and a file, its legend, and the names of its ends. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { evenly } from '../model/curve.ts';
import { Section } from '../parts/card.tsx';
import { DialogButton } from '../parts/controls.tsx';
import { asColumn, Table, type TableColumns } from '../parts/table.tsx';
import { Bars, type BarsProps } from './bars.tsx';

type Cell = string | number;

export type NumbersProps = Readonly<{ columns: TableColumns; rows: () => readonly (readonly Cell[])[] }>;

type NumbersButtonProps = NumbersProps & Readonly<{ name: string; children?: ComponentChildren }>;

/** @param children more buttons of the dialog, which each of them closes */
export const Numbers = ({ name, columns, rows, children }: NumbersButtonProps) => (
  <DialogButton text="⋯" label={`more of ${name}`} title={name} kind="plain">
    {() => (
      <>
        <div class="row">
          <button type="submit" onClick={() => saveCsv(name, columns, rows())}>
            Save as CSV
          </button>
          {children}
        </div>
        <NumbersTable name={name} columns={columns} all={rows()} />
      </>
    )}
  </DialogButton>
);

const MOST_ROWS = 300;

type NumbersTableProps = Readonly<{ name: string; columns: TableColumns; all: readonly (readonly Cell[])[] }>;

function NumbersTable({ name, columns, all }: NumbersTableProps) {
  const rows = evenly(all, MOST_ROWS);
  return (
    <>
      {rows.length < all.length && (
        <p class="quiet">{`${rows.length} of ${all.length} points, evenly spread; the CSV has all.`}</p>
      )}
      <Table caption={`numbers of ${name}`} columns={columns} rows={rows} />
    </>
  );
}

/** As a file of the reader's. */
export function save(file: string, content: string | Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content]));
  link.download = file.replaceAll(/[^\w.-]+/g, '-');
  link.click();
  URL.revokeObjectURL(link.href);
}

const quoted = (cell: Cell): string =>
  /[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell);

function saveCsv(name: string, columns: TableColumns, rows: readonly (readonly Cell[])[]): void {
  const titles = columns.map((column) => asColumn(column).title);
  save(`${name}.csv`, `${[titles, ...rows].map((row) => row.map(quoted).join(',')).join('\n')}\n`);
}

type LegendProps = Readonly<{ items: readonly (readonly [sign: ComponentChildren, text: string])[] }>;

export const Legend = ({ items }: LegendProps) => (
  <ul class="row label legend">
    {items.map(([sign, text]) => (
      <li key={text}>
        {sign}
        {text}
      </li>
    ))}
  </ul>
);

export const Ends = ({ of: [first, last] }: Readonly<{ of: readonly (Cell | undefined)[] }>) => (
  <p class="label ends">
    <span>{first}</span>
    <span>{last}</span>
  </p>
);

type BarsCardProps = Omit<BarsProps, 'class' | 'label'> &
  Readonly<{ title: string; note?: string; columns: TableColumns; rows: readonly (readonly Cell[])[] }>;

/** Bars in a card. The first column names them. */
export const BarsCard = ({ title, note, columns, rows, ...bars }: BarsCardProps) => (
  <Section
    {...{ title, note }}
    tools={<Numbers name={title} columns={columns} rows={() => rows} />}
    kind="card pad stack"
  >
    <Bars class="bars" label={`${title}, drawn`} {...bars} />
    <div style={{ width: `${(bars.bars.length / (bars.places ?? 1)) * 100}%`, ...BOTH_ENDS }}>
      <Ends of={[rows[0]?.[0], rows.length > 1 ? rows.at(-1)?.[0] : '']} />
    </div>
  </Section>
);

/** Room for two days in words. */
const BOTH_ENDS = { minWidth: '10rem', maxWidth: '100%' };
/** Of the frame: what lies before now. */
const PAST = 0.7;

/**
 * A frame that a drawing fills, or in which it scrolls sideways where the page is narrower.
 * @param least below it, the frame scrolls
 * @param now where it then opens: a share of the drawing, whose right end is the newest
 */
export function useFrame(least: number, now = 1) {
  const width = useSignal(least);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = frame.current;
    if (place === null) return undefined;
    const resized = new ResizeObserver(() => {
      width.value = Math.max(least, place.clientWidth);
      place.scrollLeft = now * place.scrollWidth - PAST * place.clientWidth;
    });
    resized.observe(place);
    return () => resized.disconnect();
  }, []);
  return { width: width.value, frame };
}
