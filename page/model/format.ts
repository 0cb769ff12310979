/** Amounts as a person reads them, in the reader's own zone and language. */
import { durationText, usdText } from '../../client/amounts.ts';

export const elapsedText = (from: string | number, to: string | number): string =>
  durationText((new Date(to).getTime() - new Date(from).getTime()) / 1000);

/** With the sign of the currency. @param beside as of `usdText` */
export const dollarText = (usd: number, ...beside: readonly number[]): string =>
  `${usd < 0 ? '−' : ''}$${usdText(Math.abs(usd), ...beside)}`;

/** Of an hour of a node, whose differences lie behind the cents. */
export const priceText = (usd: number): string => `$${usd.toFixed(4)}`;

const DAY_MILLISECONDS = 86_400_000;

/** Both ends of an interval of times, with seconds where a minute tells them not apart. */
export function spanText(low: string | number, high: string | number): string {
  const [from, to] = [whenText(low), whenText(high)];
  if (from !== to) return `${from} to ${to}`;
  return `${clockText(low, '2-digit')} to ${clockText(high, '2-digit')}`;
}

/** The time of day; before it, the date where it is another day. */
export function whenText(time: string | number, now: number = Date.now()): string {
  const at = new Date(time);
  const clock = clockText(time);
  if (at.toDateString() === new Date(now).toDateString()) return clock;
  if (at.toDateString() === new Date(now - DAY_MILLISECONDS).toDateString()) return `yesterday ${clock}`;
  if (at.toDateString() === new Date(now + DAY_MILLISECONDS).toDateString()) return `tomorrow ${clock}`;
  const year = at.getFullYear() === new Date(now).getFullYear() ? undefined : ('numeric' as const);
  return `${at.toLocaleDateString(undefined, { day: 'numeric', month: 'short', year })}, ${clock}`;
}

/** Such as "5 h 12 m before the deadline". @param end milliseconds */
export function leftText(deadline: string, end: number): string {
  const left = (Date.parse(deadline) - end) / 1000;
  return `${durationText(Math.abs(left))} ${left >= 0 ? 'before' : 'after'} the deadline`;
}

/** Such as 09:05, or with `second` 09:05:12. */
export const clockText = (time: string | number, second?: '2-digit'): string =>
  new Date(time).toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    ...(second && { second }),
  });

export const timeText = (time: string | number): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** @param share of 1 */
export const percentText = (share: number): string => `${Math.round(share * 100)} %`;

const [TINY, THOUSAND] = [0.001, 1_000];

/** Four digits say as much as an eye reads from a curve; the table has all. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < TINY) return value.toExponential(1);
  return size < THOUSAND ? String(Number(value.toPrecision(4))) : Math.round(value).toLocaleString('en');
}

const LONGEST_NAME = 20;
const [HEAD, TAIL] = [9, 7];

/** A long name keeps its number, which tells it from others. */
export const shortName = (name: string): string =>
  name.length <= LONGEST_NAME ? name : `${name.slice(0, HEAD)}…${name.slice(-TAIL)}`;

/** The cause in one line: of a traceback the last line, which names the error. What it stands in may unfold. */
export function causeOf(failure: string): { readonly cause: string; readonly more?: string } {
  const lines = failure.trim().split('\n');
  const [first = ''] = lines;
  if (lines.length === 1) return { cause: first };
  const last = lines.at(-1) ?? '';
  const cause = /Traceback/.test(failure) ? last : first;
  return { cause: cause.trim(), more: failure };
}

export const PURCHASE_OPTIONS = { spot: 'Spot', 'on-demand': 'On-Demand', reserved: 'Reserved' } as const;

interface Pool {
  readonly instanceType: string;
  readonly zoneId?: string | undefined;
  readonly purchaseOption: keyof typeof PURCHASE_OPTIONS;
}

export const placeText = ({ instanceType, zoneId = 'any zone', purchaseOption }: Pool): string =>
  `${instanceType} · ${zoneId} · ${PURCHASE_OPTIONS[purchaseOption]}`;

type Placed = Readonly<{ pool: Pool; topology: { readonly nodes: number } }>;

export const poolText = ({ pool, topology }: Placed): string => `${topology.nodes} × ${placeText(pool)}`;

/** Such as "Rebalance recommended" for RebalanceRecommended, or "Too few workers" for too-few-workers. */
export function wordsOf(kind: string): string {
  const words = kind
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('-', ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
