/** Tables, and the numbers of a chart as one. Text becomes a text node, so that no name or message is ever read as HTML. */
import type { ComponentChildren } from 'preact';
import { Disclosure } from './disclosure.tsx';

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
}

/** Columns of numbers. */
export const numbers = (...titles: readonly string[]): readonly Column[] =>
  titles.map((title) => ({ title, isNumber: true }));

const columnOf = (column: string | Column): Column =>
  typeof column === 'string' ? { title: column } : column;

interface FrameProps {
  readonly caption: string;
  readonly columns: readonly (string | Column)[];
  /** Rows, as `tr`. */
  readonly children: ComponentChildren;
}

export const TableFrame = ({ caption, columns, children }: FrameProps) => (
  <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
    <table>
      <thead>
        <tr>
          {columns.map(columnOf).map(({ title, isNumber }) => (
            <th key={title} scope="col" class={isNumber ? 'number' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

interface TableProps extends Pick<FrameProps, 'caption' | 'columns'> {
  readonly rows: readonly (readonly ComponentChildren[])[];
}

export function Table({ caption, columns, rows }: TableProps) {
  const all = columns.map(columnOf);
  return (
    <TableFrame caption={caption} columns={columns}>
      {rows.map((row, place) => (
        <tr key={place}>
          {row.map((cell, at) => (
            <td key={at} class={all[at]?.isNumber ? 'number' : undefined}>
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </TableFrame>
  );
}

interface NumbersProps {
  readonly id: string;
  /** Made when the reader opens it. */
  readonly children: () => ComponentChildren;
}

/** The numbers of a chart. */
export const Numbers = ({ id, children }: NumbersProps) => (
  <Disclosure id={id} summary="as a table">
    {children}
  </Disclosure>
);
