/** The table. Text becomes a text node, so that no name or message is ever read as HTML. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, HTMLAttributes } from 'preact';
import { useEffect } from 'preact/hooks';
import { Section, type SectionProps } from './card.tsx';

/** A phone leaves out the wide ones; `head` stands for the title. */
type Column = Readonly<{ title: string; kind?: 'number' | 'wide'; head?: ComponentChildren }>;
export type TableColumns = readonly (string | Column)[];
type Row = readonly ComponentChildren[];

/** Columns of numbers. */
export const numbers = (...titles: readonly string[]): readonly Column[] =>
  titles.map((title) => ({ title, kind: 'number' }));

/** Columns that a phone leaves out. */
export const wide = (...titles: readonly string[]): readonly Column[] =>
  titles.map((title) => ({ title, kind: 'wide' }));

export const asColumn = (column: string | Column = ''): Column =>
  typeof column === 'string' ? { title: column } : column;

export const Cells = ({ columns, cells }: Readonly<{ columns: TableColumns; cells: Row }>) =>
  cells.map((cell, at) => (
    <td key={at} class={asColumn(columns[at]).kind}>
      {cell}
    </td>
  ));

type TableProps = Readonly<{ caption: string; columns: TableColumns; rows?: readonly Row[] }> &
  Readonly<{ chosen?: number; rowCount?: number; role?: 'region' }> &
  Pick<HTMLAttributes<HTMLDivElement>, 'class' | 'onScroll' | 'children'>;

/** @param chosen the row that stands out @param children other rows, as `tr`, of `rowCount` */
export const Table = ({ caption, columns, rows, chosen, rowCount, children, ...frame }: TableProps) => (
  <div class="card scroll" tabIndex={0} role="group" aria-label={caption} {...frame}>
    <table aria-rowcount={rowCount}>
      <thead>
        <tr aria-rowindex={1}>
          {columns.map(asColumn).map(({ title, kind, head = title }) => {
            // A column of boxes or bars has no word.
            const [Cell, scope] = head === '' ? (['td', undefined] as const) : (['th', 'col'] as const);
            return (
              <Cell key={title} scope={scope} class={kind}>
                {head}
              </Cell>
            );
          })}
        </tr>
      </thead>
      <tbody>
        {rows?.map((cells, place) => (
          <tr key={place} class={place === chosen ? 'chosen' : undefined}>
            <Cells columns={columns} cells={cells} />
          </tr>
        ))}
        {children}
      </tbody>
    </table>
  </div>
);

type TableSectionProps = Pick<SectionProps, 'title' | 'note'> & Omit<TableProps, 'caption'>;

/** A table under its heading. */
export const TableSection = ({ title, note, ...table }: TableSectionProps) => (
  <Section title={title} note={note}>
    <Table caption={title} {...table} />
  </Section>
);

/** As the style sheet has them. */
const ROW_HEIGHTS = { runs: 36, log: 24 };
/** Rows above and below the view, for scrolling without gaps; more make a leap too long for a frame. */
const MARGIN = 6;
/** Further rows are read where so few follow. */
const ROWS_AHEAD = 24;

type VirtualTableProps = Pick<TableProps, 'caption' | 'columns'> &
  Readonly<{ count: number; row: (place: number) => Row; onEnd?: () => void }> &
  Readonly<{ kind: keyof typeof ROW_HEIGHTS }>;

/** A table of any length: only the rows in view are elements. @param onEnd the reader comes near the last row */
export function VirtualTable({ count, row, onEnd, kind, ...table }: VirtualTableProps) {
  const rowHeight = ROW_HEIGHTS[kind];
  const top = useSignal(0);
  const first = Math.max(0, Math.min(count, Math.floor(top.value / rowHeight)) - MARGIN);
  const last = Math.min(count, Math.ceil((top.value + innerHeight) / rowHeight) + MARGIN);
  useEffect(() => {
    if (last + ROWS_AHEAD >= count) onEnd?.();
  }, [last, count, onEnd]);
  const gap = (rows: number) =>
    rows > 0 && (
      <tr aria-hidden="true" class="gap">
        <td style={{ height: `${rows * rowHeight}px` }} />
      </tr>
    );
  const frame = { class: `card virtual of-${kind}`, role: 'region', rowCount: count + 1 } as const;
  return (
    <Table {...table} {...frame} onScroll={({ currentTarget }) => (top.value = currentTarget.scrollTop)}>
      {gap(first)}
      {Array.from({ length: Math.max(0, last - first) }, (_, place) => (
        <tr key={first + place} aria-rowindex={first + place + 2}>
          <Cells columns={table.columns} cells={row(first + place)} />
        </tr>
      ))}
      {gap(count - last)}
    </Table>
  );
}
