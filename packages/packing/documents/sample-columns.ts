/** Which columns the samples of a generation have, and which of them only describe others. */

/** A text or label beside an image or a sound. Alone, it is no sample of a dataset of images. */
const SIDECARS = new Set(['label', 'json', 'txt', 'text', 'caption', 'xml', 'yaml', 'yml']);

export const isSidecar = (column: string): boolean => SIDECARS.has(column);

export interface SampleColumns {
  readonly samples: number;
  /** How many samples have each. */
  readonly columns: Readonly<Record<string, number>>;
}

export const NO_COLUMNS: SampleColumns = { samples: 0, columns: {} };

/** How many samples have a column that is no sidecar, at least. */
export const hasData = ({ columns }: SampleColumns): number =>
  Math.max(0, ...Object.entries(columns).map(([column, count]) => (isSidecar(column) ? 0 : count)));

export function sumOfColumns(all: Iterable<SampleColumns | undefined>): SampleColumns {
  let samples = 0;
  const columns = new Map<string, number>();
  for (const one of all) {
    if (one === undefined) continue;
    samples += one.samples;
    for (const [column, count] of Object.entries(one.columns))
      columns.set(column, (columns.get(column) ?? 0) + count);
  }
  return { samples, columns: mostCommon(columns) };
}

/** Names of members may make any number of columns. */
const MOST_KEPT = 50;

export const mostCommon = (columns: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries(
    [...columns]
      .sort(([a, first], [b, second]) => second - first || (a < b ? -1 : 1))
      .slice(0, MOST_KEPT)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
