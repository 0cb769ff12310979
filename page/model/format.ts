/** Amounts as a person reads them, in the reader's own zone and language. */
const HOUR_SECONDS = 3600;

const two = (value: number): string => String(value).padStart(2, '0');

/** @returns such as `2 h 05 min`, `4 min 10 s` or `12 s` */
export function durationText(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const minutes = Math.floor((seconds % HOUR_SECONDS) / 60);
  const hours = Math.floor(seconds / HOUR_SECONDS);
  if (hours > 0) return `${hours} h ${two(minutes)} min`;
  return minutes > 0 ? `${minutes} min ${two(seconds % 60)} s` : `${seconds} s`;
}

export const usdText = (usd: number): string => `$${usd.toFixed(usd !== 0 && Math.abs(usd) < 1 ? 4 : 2)}`;

/** Only the time of day where the date is that of `since`. */
export function clockText(time: string, since: string): string {
  const [at, from] = [new Date(time), new Date(since)];
  return at.toDateString() === from.toDateString() ? at.toLocaleTimeString() : timeText(time);
}

export const timeText = (time: string | number): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
