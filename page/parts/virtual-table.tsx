/** A table of any length: only the rows in view are elements. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const ROW_HEIGHT = 34;
/** Rows above and below the view, for scrolling without gaps. */
const MARGIN = 20;

interface VirtualTableProps {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly count: number;
  /** Cells of a row. */
  readonly row: (place: number) => readonly ComponentChildren[];
  /** The reader comes near the last row. */
  readonly onEnd?: () => void;
  /** The row to show at first. */
  readonly start?: number | undefined;
  /** Its columns have widths of their own. */
  readonly kind?: 'runs' | 'log';
}

export function VirtualTable({
  caption,
  columns,
  count,
  row,
  onEnd,
  start,
  kind = 'runs',
}: VirtualTableProps) {
  const top = useSignal(0);
  const height = useSignal(600);
  const frame = useRef<HTMLDivElement>(null);
  const first = Math.max(0, Math.min(count, Math.floor(top.value / ROW_HEIGHT)) - MARGIN);
  const last = Math.min(count, Math.ceil((top.value + height.value) / ROW_HEIGHT) + MARGIN);
  useEffect(() => {
    const scrolled = frame.current;
    if (scrolled === null) return;
    height.value = scrolled.clientHeight;
    if (start !== undefined) scrolled.scrollTop = start * ROW_HEIGHT;
  }, [start]);
  useEffect(() => {
    if (last + MARGIN >= count) onEnd?.();
  }, [last, count, onEnd]);
  return (
    <div
      class={`scroll virtual of-${kind}`}
      ref={frame}
      tabIndex={0}
      role="region"
      aria-label={caption}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
    >
      <table aria-rowcount={count + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} columns={columns.length} />
          {Array.from({ length: Math.max(0, last - first) }, (_, place) => (
            <Row
              key={first + place}
              place={first + place}
              isChosen={first + place === start}
              cells={row(first + place)}
            />
          ))}
          <Gap rows={count - last} columns={columns.length} />
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly place: number;
  readonly isChosen: boolean;
  readonly cells: readonly ComponentChildren[];
}

const Row = ({ place, isChosen, cells }: RowProps) => (
  <tr aria-rowindex={place + 2} class={isChosen ? 'chosen' : undefined}>
    {cells.map((cell, at) => (
      <td key={at}>{cell}</td>
    ))}
  </tr>
);

const Gap = ({ rows, columns }: { readonly rows: number; readonly columns: number }) =>
  rows <= 0 ? null : (
    <tr aria-hidden="true" class="gap">
      <td colSpan={columns} style={{ height: `${rows * ROW_HEIGHT}px` }} />
    </tr>
  );
