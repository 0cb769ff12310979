/** Bars in a card, with their numbers as a table. */
import { Section } from '../parts/card.tsx';
import { Action } from '../parts/controls.tsx';
import { type Columns, Table } from '../parts/table.tsx';
import { Bars, type BarsProps } from './bars.tsx';

export const BarsCard = ({
  title,
  note,
  columns,
  rows,
  ...bars
}: Omit<BarsProps, 'class'> &
  Readonly<{
    title: string;
    note?: string;
    columns: Columns;
    rows: readonly (readonly (string | number)[])[];
  }>) => (
  <Section
    title={title}
    note={note}
    tools={
      <Action text="As a table" title={title}>
        {() => <Table caption={`${title}, in numbers`} columns={columns} rows={rows} />}
      </Action>
    }
  >
    <figure class="card pad">
      <Bars class="bars" {...bars} />
    </figure>
  </Section>
);
