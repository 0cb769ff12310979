/** What belongs to a drawing: its frame, its numbers as a table and a file, its legend, and the names of its ends. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { csvText, evenly, type TableCell } from '../model/curve.ts';
import { Section } from '../parts/card.tsx';
import { DialogButton } from '../parts/controls.tsx';
import { asColumn, Table, type TableColumns } from '../parts/table.tsx';
import { Bars, type BarsProps } from './bars.tsx';

export type NumbersProps = Readonly<{ columns: TableColumns; rows: () => readonly (readonly TableCell[])[] }>;

const MOST_ROWS = 300;

/** @param children more buttons of the dialog, which each of them closes */
export function Numbers(props: NumbersProps & Readonly<{ name: string; children?: ComponentChildren }>) {
  const { name, columns, children } = props;
  const dialog = () => {
    const all = props.rows();
    const rows = evenly(all, MOST_ROWS);
    const csv = () => save(`${name}.csv`, csvText([columns.map((each) => asColumn(each).title), ...all]));
    return (
      <>
        <div class="row">
          <button type="submit" onClick={csv}>
            Save as CSV
          </button>
          {children}
        </div>
        {rows.length < all.length && (
          <p class="quiet">{`${rows.length} of ${all.length} points, evenly spread; the CSV has all.`}</p>
        )}
        <Table caption={`numbers of ${name}`} columns={columns} rows={rows} />
      </>
    );
  };
  return (
    <DialogButton text="⋯" label={`more of ${name}`} title={name} kind="plain">
      {dialog}
    </DialogButton>
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

/** @param items a sign and its text each */
export const Legend = ({ items }: Readonly<{ items: readonly (readonly [ComponentChildren, string])[] }>) => (
  <ul class="row label legend">
    {items.map(([sign, text]) => (
      <li key={text}>
        {sign}
        {text}
      </li>
    ))}
  </ul>
);

export const Ends = ({ of: [first, last] }: Readonly<{ of: readonly (TableCell | undefined)[] }>) => (
  <p class="label row ends">
    <span>{first}</span>
    <span>{last}</span>
  </p>
);

type BarsCardProps = Omit<BarsProps, 'class' | 'label'> &
  Readonly<{ title: string; note?: string; columns: TableColumns; rows: readonly (readonly TableCell[])[] }>;

/** Bars in a card. The first column names them. */
export function BarsCard({ title, note, columns, rows, ...bars }: BarsCardProps) {
  const tools = <Numbers name={title} columns={columns} rows={() => rows} />;
  return (
    <Section title={title} note={note} tools={tools} kind="stack">
      <Bars class="bars" label={`${title}, drawn`} {...bars} />
      <div style={{ width: `${(bars.bars.length / (bars.places ?? 1)) * 100}%`, ...BOTH_ENDS }}>
        <Ends of={[rows[0]?.[0], rows.length > 1 ? rows.at(-1)?.[0] : '']} />
      </div>
    </Section>
  );
}

/** Room for two days in words. */
const BOTH_ENDS = { minWidth: '10rem', maxWidth: '100%' };
/** The share of the frame that lies before now. */
const PAST = 0.7;

/**
 * A frame that a drawing fills, or in which it scrolls sideways where the page is narrower.
 * @param least below it, the frame scrolls
 * @param now where it then opens: a share of the drawing, whose right end is the newest
 */
export function useFrame(least: number, now = 1) {
  const width = useSignal(least);
  const frame = useRef<HTMLDivElement>(null);
  const opensAt = useRef(now);
  opensAt.current = now;
  useEffect(() => {
    const place = frame.current;
    if (place === null) return undefined;
    const resized = new ResizeObserver(() => {
      width.value = Math.max(least, place.clientWidth);
      place.scrollLeft = opensAt.current * place.scrollWidth - PAST * place.clientWidth;
    });
    resized.observe(place);
    return () => resized.disconnect();
  }, []);
  return { width: width.value, frame };
}
