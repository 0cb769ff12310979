/** The table. Text becomes a text node, so that no name or message is ever read as HTML. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

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

const columnOf = (column: string | Column = ''): Column =>
  typeof column === 'string' ? { title: column } : column;

const classOf = ({ isNumber, isWide }: Column): string | undefined =>
  [isNumber && 'number', isWide && 'wide'].filter(Boolean).join(' ') || undefined;

const Titles = ({ columns }: Readonly<{ columns: TableColumns }>) => (
  <thead>
    <tr aria-rowindex={1}>
      {columns.map(columnOf).map((column) => {
        const text = column.head ?? column.title;
        // A column of boxes or bars has no word.
        if (text === '') return <td key={column.title} />;
        return (
          <th key={column.title} scope="col" class={classOf(column)}>
            {text}
          </th>
        );
      })}
    </tr>
  </thead>
);

export const Cells = ({ columns, cells }: Readonly<{ columns: TableColumns; cells: Row }>) =>
  cells.map((cell, at) => (
    <td key={at} class={classOf(columnOf(columns[at]))}>
      {cell}
    </td>
  ));

/** @param children rows, as `tr` */
export const TableFrame = ({
  caption,
  columns,
  children,
}: Readonly<{ caption: string; columns: TableColumns; children: ComponentChildren }>) => (
  <div class="card scroll" tabIndex={0} role="group" aria-label={caption}>
    <table>
      <Titles columns={columns} />
      <tbody>{children}</tbody>
    </table>
  </div>
);

/** @param chosen the row that stands out */
export const Table = ({
  rows,
  chosen,
  ...frame
}: Readonly<{ caption: string; columns: TableColumns; rows: readonly Row[]; chosen?: number }>) => (
  <TableFrame {...frame}>
    {rows.map((cells, place) => (
      <tr key={place} class={place === chosen ? 'chosen' : undefined}>
        <Cells columns={frame.columns} cells={cells} />
      </tr>
    ))}
  </TableFrame>
);

/** As the style sheet has them. */
const ROW_HEIGHTS = { runs: 36, log: 24 };
/** Rows above and below the view, for scrolling without gaps. */
const MARGIN = 20;

/** A table of any length: only the rows in view are elements. @param onEnd the reader comes near the last row */
export function VirtualTable({
  caption,
  columns,
  count,
  row,
  onEnd,
  kind,
}: Readonly<{
  caption: string;
  columns: TableColumns;
  count: number;
  row: (place: number) => Row;
  onEnd?: () => void;
  kind: keyof typeof ROW_HEIGHTS;
}>) {
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
      onScroll={({ currentTarget }) => (top.value = currentTarget.scrollTop)}
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

const Gap = ({ height }: Readonly<{ height: number }>) =>
  height <= 0 ? null : (
    <tr aria-hidden="true" class="gap">
      <td style={{ height: `${height}px` }} />
    </tr>
  );
