/** A table whose cells are coloured by their number: colour never alone, each cell says its number. */
import type { ComponentChildren } from 'preact';
import { TableFrame } from '../parts/table.tsx';

export interface HeatCell {
  readonly text: ComponentChildren;
  /** From 0 to 1; undefined: nothing is known. */
  readonly heat: number | undefined;
  readonly title: string;
}

interface HeatMapProps {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly HeatCell[] }[];
}

const STEPS = 5;

export const HeatMap = ({ caption, columns, rows }: HeatMapProps) => (
  <TableFrame caption={caption} columns={['type', ...columns]}>
    {rows.map(({ name, cells }) => (
      <tr key={name}>
        <th scope="row">{name}</th>
        {cells.map(({ text, heat, title }, place) => (
          <td key={place} class={`heat heat-${stepOf(heat)}`} title={title}>
            {text}
          </td>
        ))}
      </tr>
    ))}
  </TableFrame>
);

const stepOf = (heat: number | undefined): string =>
  heat === undefined ? 'none' : String(Math.min(STEPS - 1, Math.floor(heat * STEPS)));
