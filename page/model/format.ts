/** Amounts as a person reads them, in the reader's own zone and language. */
import { durationText, usdText } from '../../client/amounts.ts';

export const elapsedText = (from: string | number, to: string | number): string =>
  durationText((new Date(to).getTime() - new Date(from).getTime()) / 1000);

/** With the sign of the currency. @param beside as of `usdText` */
export const dollarText = (usd: number, ...beside: readonly number[]): string =>
  `${usd < 0 ? '−' : ''}$${usdText(Math.abs(usd), ...beside)}`;

/** Of an hour of a node, whose differences lie behind the cents. */
export const priceText = (usd: number): string => `$${usd.toFixed(4)}`;

/** Only the time of day where the date is that of `since`. */
export function clockText(time: string, since: string): string {
  const [at, from] = [new Date(time), new Date(since)];
  return at.toDateString() === from.toDateString() ? at.toLocaleTimeString() : timeText(time);
}

export const timeText = (time: string | number): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** @param share of 1 */
export const percentText = (share: number): string => `${Math.round(share * 100)} %`;

const TINY = 0.001;

/** Four digits say as much as an eye reads from a curve; the table has all. */
export function shortNumber(value: number): string {
  const isTiny = value !== 0 && Math.abs(value) < TINY;
  return isTiny ? value.toExponential(1) : String(Number(value.toPrecision(4)));
}

interface Pool {
  readonly instanceType: string;
  readonly zoneId?: string | undefined;
  readonly purchaseOption: 'spot' | 'on-demand';
}

export const placeText = ({ instanceType, zoneId = 'any zone', purchaseOption }: Pool): string =>
  `${instanceType} · ${zoneId} · ${purchaseOption === 'spot' ? 'Spot' : 'On-Demand'}`;

interface Placed {
  readonly pool: Pool;
  readonly topology: { readonly nodes: number };
}

export const poolText = ({ pool, topology }: Placed): string => `${topology.nodes} × ${placeText(pool)}`;
