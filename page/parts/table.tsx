/** The table. Text becomes a text node, so that no name or message is ever read as HTML. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
  /** A phone leaves it out. */
  readonly isWide?: boolean;
  /** Stands for the title. */
  readonly head?: ComponentChildren;
}

export type Columns = readonly (string | Column)[];

/** Columns of numbers. */
export const numbers = (...titles: readonly string[]): readonly Column[] =>
  titles.map((title) => ({ title, isNumber: true }));

/** Columns that a phone leaves out. */
export const wide = (...titles: readonly string[]): readonly Column[] =>
  titles.map((title) => ({ title, isWide: true }));

const columnOf = (column: string | Column): Column =>
  typeof column === 'string' ? { title: column } : column;

const classOf = ({ isNumber, isWide }: Column = { title: '' }): string | undefined =>
  [isNumber && 'number', isWide && 'wide'].filter(Boolean).join(' ') || undefined;

const Titles = ({ columns }: { readonly columns: Columns }) => (
  <thead>
    <tr aria-rowindex={1}>
      {columns.map(columnOf).map((column) => (
        <th key={column.title} scope="col" class={classOf(column)}>
          {column.head ?? column.title}
        </th>
      ))}
    </tr>
  </thead>
);

interface CellsProps {
  readonly columns: Columns;
  readonly cells: readonly ComponentChildren[];
}

export const Cells = ({ columns, cells }: CellsProps) =>
  cells.map((cell, at) => (
    <td key={at} class={classOf(columnOf(columns[at] ?? ''))}>
      {cell}
    </td>
  ));

interface FrameProps {
  readonly caption: string;
  readonly columns: Columns;
  /** Rows, as `tr`. */
  readonly children: ComponentChildren;
}

export const TableFrame = ({ caption, columns, children }: FrameProps) => (
  <div class="card scroll" tabIndex={0} role="region" aria-label={caption}>
    <table>
      <Titles columns={columns} />
      <tbody>{children}</tbody>
    </table>
  </div>
);

interface TableProps extends Pick<FrameProps, 'caption' | 'columns'> {
  readonly rows: readonly (readonly ComponentChildren[])[];
  /** The row that stands out. */
  readonly chosen?: number | undefined;
}

export const Table = ({ caption, columns, rows, chosen }: TableProps) => (
  <TableFrame caption={caption} columns={columns}>
    {rows.map((cells, place) => (
      <tr key={place} class={place === chosen ? 'chosen' : undefined}>
        <Cells columns={columns} cells={cells} />
      </tr>
    ))}
  </TableFrame>
);

/** As the style sheet has them. */
const ROW_HEIGHTS = { runs: 36, log: 24 };
/** Rows above and below the view, for scrolling without gaps. */
const MARGIN = 20;

interface VirtualTableProps extends Omit<FrameProps, 'children'> {
  readonly count: number;
  /** Cells of a row. */
  readonly row: (place: number) => readonly ComponentChildren[];
  /** The reader comes near the last row. */
  readonly onEnd?: () => void;
  /** Its columns have widths of their own. */
  readonly kind?: 'runs' | 'log';
}

/** A table of any length: only the rows in view are elements. */
export function VirtualTable({ caption, columns, count, row, onEnd, kind = 'runs' }: VirtualTableProps) {
  const rowHeight = ROW_HEIGHTS[kind];
  const top = useSignal(0);
  const height = useSignal(600);
  const frame = useRef<HTMLDivElement>(null);
  const first = Math.max(0, Math.min(count, Math.floor(top.value / rowHeight)) - MARGIN);
  const last = Math.min(count, Math.ceil((top.value + height.value) / rowHeight) + MARGIN);
  useEffect(() => {
    if (frame.current !== null) height.value = frame.current.clientHeight;
  }, []);
  useEffect(() => {
    if (last + MARGIN >= count) onEnd?.();
  }, [last, count, onEnd]);
  return (
    <div
      class={`card scroll virtual of-${kind}`}
      ref={frame}
      tabIndex={0}
      role="region"
      aria-label={caption}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
    >
      <table aria-rowcount={count + 1}>
        <Titles columns={columns} />
        <tbody>
          <Gap height={first * rowHeight} />
          {Array.from({ length: Math.max(0, last - first) }, (_, place) => (
            <tr key={first + place} aria-rowindex={first + place + 2}>
              <Cells columns={columns} cells={row(first + place)} />
            </tr>
          ))}
          <Gap height={(count - last) * rowHeight} />
        </tbody>
      </table>
    </div>
  );
}

const Gap = ({ height }: { readonly height: number }) =>
  height <= 0 ? null : (
    <tr aria-hidden="true" class="gap">
      <td style={{ height: `${height}px` }} />
    </tr>
  );
