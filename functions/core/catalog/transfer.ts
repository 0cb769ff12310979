/** What it costs to move data between regions, from a dated table. */
import data from './data/transfer-prices.json' with { type: 'json' };

const prices: Readonly<Record<string, Readonly<Record<string, number>>>> = data.prices;

export const transferPricesAsOf = data.asOf;

/** USD for a gigabyte (10^9 bytes) that leaves `from` for `to`; the dearest known where no list names the region. */
export function transferUsdPerGigabyte(from: string, to: string): number {
  if (from === to) return 0;
  const row = prices[from];
  return row?.[to] ?? row?.['*'] ?? data.unknown;
}
