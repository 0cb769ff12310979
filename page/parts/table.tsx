/** The table. Text becomes a text node, so that no name or message is ever read as HTML. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { Section, type SectionProps } from './card.tsx';

/** A phone leaves out the wide ones; `head` stands for the title. */
type Column = Readonly<{ title: string; isNumber?: boolean; isWide?: boolean; head?: ComponentChildren }>;
export type TableColumns = readonly (string | Column)[];
type Row = readonly ComponentChildren[];

/** Columns of numbers. */
export const numbers = (...titles: readonly string[]): readonly Column[] =>
  titles.map((title) => ({ title, isNumber: true }));

/** Columns that a phone leaves out. */
export const wide = (...titles: readonly string[]): readonly Column[] =>
  titles.map((title) => ({ title, isWide: true }));

export const asColumn = (column: string | Column = ''): Column =>
  typeof column === 'string' ? { title: column } : column;

const classOf = ({ isNumber, isWide }: Column): string | undefined =>
  [isNumber && 'number', isWide && 'wide'].filter(Boolean).join(' ') || undefined;

const Titles = ({ columns }: Readonly<{ columns: TableColumns }>) => (
  <thead>
    <tr aria-rowindex={1}>
      {columns.map(asColumn).map((column) => {
        const { title, head = title } = column;
        // A column of boxes or bars has no word.
        const [Cell, scope] = head === '' ? (['td', undefined] as const) : (['th', 'col'] as const);
        return (
          <Cell key={title} scope={scope} class={classOf(column)}>
            {head}
          </Cell>
        );
      })}
    </tr>
  </thead>
);

export const Cells = ({ columns, cells }: Readonly<{ columns: TableColumns; cells: Row }>) =>
  cells.map((cell, at) => (
    <td key={at} class={classOf(asColumn(columns[at]))}>
      {cell}
    </td>
  ));

type FrameProps = Readonly<{ caption: string; columns: TableColumns }>;

type OpenProps = FrameProps & Readonly<{ children: ComponentChildren }>;

/** @param children rows, as `tr` */
export const TableFrame = ({ caption, columns, children }: OpenProps) => (
  <div class="card scroll" tabIndex={0} role="group" aria-label={caption}>
    <table>
      <Titles columns={columns} />
      <tbody>{children}</tbody>
    </table>
  </div>
);

type TableProps = FrameProps & Readonly<{ rows: readonly Row[]; chosen?: number }>;

/** @param chosen the row that stands out */
export const Table = ({ rows, chosen, ...frame }: TableProps) => (
  <TableFrame {...frame}>
    {rows.map((cells, place) => (
      <tr key={place} class={place === chosen ? 'chosen' : undefined}>
        <Cells columns={frame.columns} cells={cells} />
      </tr>
    ))}
  </TableFrame>
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

type VirtualTableProps = FrameProps &
  Readonly<{
    count: number;
    row: (place: number) => Row;
    onEnd?: () => void;
    kind: keyof typeof ROW_HEIGHTS;
  }>;

/** A table of any length: only the rows in view are elements. @param onEnd the reader comes near the last row */
export function VirtualTable({ caption, columns, count, row, onEnd, kind }: VirtualTableProps) {
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
  return (
    <div
      class={`card virtual of-${kind}`}
      tabIndex={0}
      role="region"
      aria-label={caption}
      onScroll={({ currentTarget }) => (top.value = currentTarget.scrollTop)}
    >
      <table aria-rowcount={count + 1}>
        <Titles columns={columns} />
        <tbody>
          {gap(first)}
          {Array.from({ length: Math.max(0, last - first) }, (_, place) => (
            <tr key={first + place} aria-rowindex={first + place + 2}>
              <Cells columns={columns} cells={row(first + place)} />
            </tr>
          ))}
          {gap(count - last)}
        </tbody>
      </table>
    </div>
  );
}
