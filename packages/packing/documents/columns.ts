/** Columns of members by their suffixes. */
import { imageFormatOf } from './sniff.ts';

export const LABEL = 'label';

/** A cache: a dataset has a handful of suffixes and millions of files. */
const columns = new Map<string, string>();
const MOST_COLUMNS_KEPT = 1_000;

/**
 * Column of a suffix: `image` for `jpg`, `seg` for `seg.png`, the suffix itself for anything that is no image. An
 * image is no label: `label.png` gives `label_png`.
 */
export function columnOf(suffix: string): string {
  const known = columns.get(suffix);
  if (known !== undefined) return known;
  const column = readColumn(suffix);
  if (columns.size < MOST_COLUMNS_KEPT) columns.set(suffix, column);
  return column;
}

function readColumn(suffix: string): string {
  if (suffix === 'cls') return LABEL;
  const dot = suffix.lastIndexOf('.');
  const inner = dot < 0 ? 'image' : suffix.slice(0, dot);
  const column = imageFormatOf(suffix) === undefined || inner === LABEL ? suffix : inner;
  return column.replace(/[^a-z0-9_]/g, '_');
}
