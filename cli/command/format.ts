/** Times, durations and sums as a person reads them in a terminal. */
import { stripVTControlCharacters } from 'node:util';

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** "42 s", "3 m 05 s", "5 h 12 m", "2 d 4 h". */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const two = (value: number) => String(value).padStart(2, '0');
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} m ${two(whole % MINUTE)} s`;
  if (whole < DAY) return `${Math.floor(whole / HOUR)} h ${two(Math.floor((whole % HOUR) / MINUTE))} m`;
  return `${Math.floor(whole / DAY)} d ${Math.floor((whole % DAY) / HOUR)} h`;
}

/** In the person's zone: the time of today, the weekday of this week, else the date. */
export function momentText(at: Date, now: Date): string {
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (at.toDateString() === now.toDateString()) return time;
  const days = Math.abs(at.getTime() - now.getTime()) / (DAY * 1000);
  const day =
    days < 6
      ? at.toLocaleDateString('en-GB', { weekday: 'short' })
      : at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  return `${day} ${time}`;
}

const PRECISE_BELOW = 0.01;

export const usdText = (usd: number): string =>
  usd === 0 ? '0.00' : usd < PRECISE_BELOW ? usd.toFixed(4) : usd.toFixed(2);

export function bytesText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`;
}

export const countText = (count: number): string => count.toLocaleString('en-US');

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
