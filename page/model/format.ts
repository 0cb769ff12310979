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

/** Cents, and below a dollar their hundredths. */
export const usdText = (usd: number): string =>
  `${usd < 0 ? '−' : ''}$${Math.abs(usd).toFixed(usd !== 0 && Math.abs(usd) < 1 ? 4 : 2)}`;

/** Only the time of day where the date is that of `since`. */
export function clockText(time: string, since: string): string {
  const [at, from] = [new Date(time), new Date(since)];
  return at.toDateString() === from.toDateString() ? at.toLocaleTimeString() : timeText(time);
}

export const timeText = (time: string | number): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** By thousands, as disks and bills count. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

const TINY = 0.001;

/** Four digits say as much as an eye reads from a curve; the table has all. */
export function shortNumber(value: number): string {
  const isTiny = value !== 0 && Math.abs(value) < TINY;
  return isTiny ? value.toExponential(1) : String(Number(value.toPrecision(4)));
}

interface Placed {
  readonly pool: {
    readonly instanceType: string;
    readonly zoneId?: string | undefined;
    readonly purchaseOption: 'spot' | 'on-demand';
  };
  readonly topology: { readonly nodes: number };
}

export const poolText = ({ pool, topology }: Placed): string =>
  `${topology.nodes} × ${pool.instanceType} · ${pool.zoneId ?? 'any zone'} · ${pool.purchaseOption === 'spot' ? 'Spot' : 'On-Demand'}`;
