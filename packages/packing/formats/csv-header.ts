/** The first record of a CSV source, which names its columns. Quotes may hold line ends, as RFC 4180 has it. */
import { isUtf8 } from 'node:buffer';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { HEAD_BYTES, UnfitSampleError } from '../documents/shard-format.ts';
import { isNoText } from '../documents/sniff.ts';

const [NEWLINE, RETURN, QUOTE] = [0x0a, 0x0d, 0x22];
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Of a byte-order mark, in the first bytes of a source. */
export const markBytes = (head: Buffer): number => (head.subarray(0, 3).equals(BOM) ? 3 : 0);

interface HeaderPlace {
  readonly start: number;
  readonly end: number;
  /** Where the first row begins. */
  readonly rows: number;
}

/**
 * Like readers of CSV it ignores a byte-order mark, and takes a newline, a carriage return or both for the end.
 * Undefined if these bytes do not hold the end.
 */
function placeOf(head: Buffer, isAll: boolean): HeaderPlace | undefined {
  const start = markBytes(head);
  let isQuoted = false;
  for (let at = start; at < head.length; at += 1) {
    const byte = head[at];
    if (byte === QUOTE) isQuoted = !isQuoted;
    if (isQuoted || (byte !== NEWLINE && byte !== RETURN)) continue;
    const next = head[at + 1];
    // The newline that belongs to a carriage return may follow.
    if (byte === RETURN && next === undefined && !isAll) return undefined;
    return { start, end: at, rows: at + lineEndBytes(byte, next) };
  }
  return isAll && !isQuoted ? { start, end: head.length, rows: head.length } : undefined;
}

const lineEndBytes = (byte: number, next: number | undefined): number =>
  byte === RETURN && next === NEWLINE ? 2 : 1;

/** Whether these first bytes of a source hold its header, or as many as are looked at. */
export const hasHeader = (head: Buffer): boolean =>
  head.length >= HEAD_BYTES || placeOf(head, false) !== undefined;

const textIn = (head: Buffer): { readonly place: HeaderPlace; readonly text: string } | undefined => {
  const place = placeOf(head, head.length < HEAD_BYTES);
  if (place === undefined || isNoText(head)) return undefined;
  const bytes = head.subarray(place.start, place.end);
  return isUtf8(bytes) ? { place, text: bytes.toString() } : undefined;
};

/**
 * The header with a newline. Undefined if it is no UTF-8, does not end in `HEAD_BYTES`, or has a quote that does not.
 * @param head the first bytes of a source, all of it or `HEAD_BYTES`
 */
export function csvHeaderIn(head: Buffer): string | undefined {
  const found = textIn(head);
  return found && `${found.text}\n`;
}

/**
 * Where the rows begin.
 * @param head as above
 * @throws UnfitSampleError if the source begins with another header
 */
export function rowsAfter(head: Buffer, expected: string): number {
  const found = textIn(head);
  if (found === undefined || found.text !== expected.replace(/\n$/, ''))
    throw new UnfitSampleError('headerDiffers');
  return found.place.rows;
}

const MOST_CHARACTERS = 200;
const MOST_COLUMNS = 5;

/** A header as a message shows it. */
export const shownHeader = (header: string): string => {
  const line = header.replace(/\r?\n$/, '');
  return quoted(line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line);
};

/** How one header differs from another, in words. */
export function headerDifference(header: string, other: string): string {
  const [mine, theirs] = [columnsOf(header), columnsOf(other)];
  const [more, fewer] = [without(mine, theirs), without(theirs, mine)];
  const said = [
    ...(more.length > 0 ? [`it has ${named(more)} more`] : []),
    ...(fewer.length > 0 ? [`it lacks ${named(fewer)}`] : []),
  ];
  return said.length > 0 ? said.join(' and ') : 'its columns are in another order';
}

const columnsOf = (header: string): string[] => header.trim().split(/[,;\t]/);

const without = (some: readonly string[], others: readonly string[]): string[] =>
  some.filter((column) => !others.includes(column));

function named(columns: readonly string[]): string {
  const more = columns.length - MOST_COLUMNS;
  const shown = columns.slice(0, MOST_COLUMNS).map(shownHeader).join(', ');
  return more > 0 ? `${shown} and ${more} others` : shown;
}
