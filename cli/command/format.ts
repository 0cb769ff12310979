/** Times, tables and foreign text as a person reads them in a terminal; client/amounts.ts has the amounts. */
import { stripVTControlCharacters } from 'node:util';

const DAY_MILLISECONDS = 86_400_000;

/** In the person's zone: the time of today, the weekday of this week, else the date. */
export function momentText(at: Date, now: Date, second?: '2-digit'): string {
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second });
  if (at.toDateString() === now.toDateString()) return time;
  const days = Math.abs(at.getTime() - now.getTime()) / DAY_MILLISECONDS;
  const day =
    days < 6
      ? at.toLocaleDateString('en-GB', { weekday: 'short' })
      : at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  return `${day} ${time}`;
}

export const countText = (count: number): string => count.toLocaleString('en-US');
export const counted = (count: number, thing: string): string =>
  `${countText(count)} ${thing}${count === 1 ? '' : 's'}`;

/** Columns as wide as their widest cell; the last one is not padded. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => visible(row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === row.length - 1
            ? cell
            : cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - visible(cell).length)),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Without its colours. */
export const visible = stripVTControlCharacters;

/** What comes from scripts, keys and labels may hold control characters, which a terminal obeys. */
export const safe = (text: string): string =>
  Array.from(text, (each) => {
    const code = each.codePointAt(0) ?? 0;
    return code < 32 || (code > 126 && code < 160) ? ' ' : each;
  }).join('');

/** Milliseconds of "90s", "15m", "2h" or "1d"; undefined for anything else. */
export function millisecondsOf(text: string): number | undefined {
  const [, count = '', letter = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = { s: 1, m: 60, h: 3_600, d: 86_400 }[letter];
  return seconds === undefined ? undefined : Number(count) * seconds * 1000;
}
