/** What it costs to move data between regions, from a dated table. */

import { own } from '@tidewheel/kit/own-property.ts';
import data from '../data/transfer-prices.json' with { type: 'json' };

const prices: Readonly<Record<string, Readonly<Record<string, number>>>> = data.prices;

export const transferPricesAsOf = data.asOf;

/** USD for a gigabyte (10^9 bytes) that leaves `from` for `to`; undefined where the table does not name `from`. */
export const tabledTransferUsd = (from: string, to: string): number | undefined =>
  from === to ? 0 : (own(own(prices, from), to) ?? own(prices, from)?.['*']);

/** The same, and the dearest known where the table does not name it. */
export const transferUsdPerGigabyte = (from: string, to: string): number =>
  tabledTransferUsd(from, to) ?? data.unknown;
