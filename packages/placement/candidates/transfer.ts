/** The money and time that training in another region costs before the first step and on the way back. */

import type { ListPrices } from '@tidewheel/catalog/prices.ts';
import type { PlacedAttempt } from '../records/attempts.ts';
import type { Transfer } from '../records/placement-records.ts';
import { transferRate } from './priced-from-list.ts';

export interface TransferQuestion {
  readonly home: string;
  readonly region: string;
  /** Of all shards that the run trains on; undefined where no manifest says. */
  readonly datasetBytes?: number | undefined;
  readonly checkpointBytes?: number | undefined;
  readonly attempts: readonly PlacedAttempt[];
  /** The AWS Price List's rates for either direction; default: the snapshot's table. */
  readonly rates?: { readonly there: ListRate; readonly back: ListRate } | undefined;
}

interface ListRate {
  /** Price list of the region that the bytes leave. */
  readonly list?: ListPrices | undefined;
  readonly now: Date;
}

/** S3 copies between two regions, many objects at a time. A stated prior. */
const BYTES_PER_SECOND = 250e6;
/** Listing both sides and the first requests. */
const START_SECONDS = 10;
const GIGABYTE = 1e9;

/** Shards that an earlier attempt copied are already there; the newest checkpoint goes there and one comes back. */
export function transferOf(question: TransferQuestion): Transfer {
  const { home, region, datasetBytes = 0, checkpointBytes = 0, attempts } = question;
  const wasThere = attempts.some(({ placement }) => placement.pool.region === region);
  const last = attempts.at(-1)?.placement.pool.region;
  const there = (wasThere ? 0 : datasetBytes) + (last === region ? 0 : checkpointBytes);
  const out = transferRate(home, region, question.rates?.there);
  const back = transferRate(region, home, question.rates?.back);
  const usd = (there / GIGABYTE) * out.usdPerGigabyte + (checkpointBytes / GIGABYTE) * back.usdPerGigabyte;
  return {
    gigabytes: (there + checkpointBytes) / GIGABYTE,
    usd,
    seconds: START_SECONDS + there / BYTES_PER_SECOND,
    priceNote: out.note,
  };
}
