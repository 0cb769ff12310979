/** Bars in a card, with their numbers as a table. */
import { Section } from '../parts/card.tsx';
import { DialogButton } from '../parts/controls.tsx';
import { Table, type TableColumns } from '../parts/table.tsx';
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
    columns: TableColumns;
    rows: readonly (readonly (string | number)[])[];
  }>) => (
  <Section
    title={title}
    note={note}
    tools={
      <DialogButton text="As a table" title={title}>
        {() => <Table caption={`${title}, in numbers`} columns={columns} rows={rows} />}
      </DialogButton>
    }
  >
    <figure class="card pad">
      <Bars class="bars" {...bars} />
    </figure>
  </Section>
);
