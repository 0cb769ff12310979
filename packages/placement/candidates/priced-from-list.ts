/** Replaces the snapshot's prices, which grow old with the release, by those of the AWS Price List. */

import { ec2OnDemandUsd, trainingRatio } from '@tidewheel/catalog/catalog.ts';
import {
  type KeptPrice,
  type ListPrice,
  type ListPrices,
  type TransferPrice,
  transferPricesAsOf,
  transferUsdPerGigabyte,
} from '@tidewheel/catalog/prices.ts';
import { assumed } from '../model/assumed.ts';
import type { PlacedAttempt } from '../records/attempts.ts';
import type { MarketView, OnDemandPrice } from '../records/market-history.ts';
import type { Transfer } from '../records/placement-records.ts';

const DAY_MILLISECONDS = 24 * 3_600_000;

/** @param wanted types that the pipeline may use: those that only the list knows are added */
export function pricedFrom(
  list: ListPrices | undefined,
  view: MarketView,
  { wanted, now }: { readonly wanted: readonly string[]; readonly now: Date },
): MarketView {
  if (list === undefined || list.region !== view.region) return view;
  const training = new Map(list.prices.map((each) => [each.instanceType, each]));
  const ec2 = new Map(list.ec2.map((each) => [each.instanceType, each]));
  const noteOf = (price: KeptPrice<ListPrice>): string => `AWS Price List${sourceOf(price, now)}`;
  const onDemandPrices = view.onDemandPrices.map((price): OnDemandPrice => {
    const { instanceType, basis } = price;
    const own = ec2.get(instanceType);
    const onEc2 = own && { ec2HourlyUsd: own.hourlyUsd, ec2Note: noteOf(own) };
    const listed = training.get(instanceType);
    if (listed !== undefined)
      return { ...price, hourlyUsd: listed.hourlyUsd, basis: 'quoted', note: noteOf(listed), ...onEc2 };
    return basis === 'estimated' && own !== undefined
      ? { ...estimated(own), ...onEc2 }
      : { ...price, ...onEc2 };
  });
  const named = new Set(view.onDemandPrices.map(({ instanceType }) => instanceType));
  // Newer than the snapshot: a type that only the list knows.
  const fresh = [...new Set(wanted)].flatMap((instanceType): OnDemandPrice[] => {
    if (named.has(instanceType)) return [];
    const [listed, own] = [training.get(instanceType), ec2.get(instanceType)];
    const onEc2 = own && { ec2HourlyUsd: own.hourlyUsd, ec2Note: noteOf(own) };
    if (listed === undefined) return own === undefined ? [] : [{ ...estimated(own), ...onEc2 }];
    const note = 'AWS Price List, unknown to the snapshot';
    const ec2HourlyUsd = ec2OnDemandUsd(instanceType, view.region);
    return [{ instanceType, hourlyUsd: listed.hourlyUsd, basis: 'quoted', note, ec2HourlyUsd, ...onEc2 }];
  });
  return { ...view, onDemandPrices: [...onDemandPrices, ...fresh] };
}

/** The list may have an EC2 price for a type without a training price. */
function estimated({ instanceType, hourlyUsd: ec2HourlyUsd }: ListPrice): OnDemandPrice {
  const ratio = trainingRatio(instanceType);
  const note = `estimate: EC2 On-Demand ${ec2HourlyUsd} of the AWS Price List x ${ratio} (ratio seen in us-east-1)`;
  return { instanceType, hourlyUsd: ec2HourlyUsd * ratio, basis: 'estimated', note, ec2HourlyUsd };
}

function sourceOf({ effective, readAt }: KeptPrice<ListPrice | TransferPrice>, now: Date): string {
  const days = Math.floor((now.getTime() - Date.parse(readAt)) / DAY_MILLISECONDS);
  const since = effective === undefined ? '' : `, in force since ${effective}`;
  return `${since}, read ${days < 1 ? 'today' : `${days} days ago`}`;
}

interface TransferRate {
  readonly usdPerGigabyte: number;
  readonly note: string;
}

/** USD a gigabyte from one region to another: the list's price, else the snapshot's. */
function transferRate(
  from: string,
  to: string,
  known: { readonly list?: ListPrices | undefined; readonly now: Date } | undefined,
): TransferRate {
  const listed =
    known?.list?.region === from ? known.list.transfer.find((each) => each.to === to) : undefined;
  if (known === undefined || listed === undefined)
    return { usdPerGigabyte: transferUsdPerGigabyte(from, to), note: `table of ${transferPricesAsOf}` };
  return {
    usdPerGigabyte: listed.usdPerGigabyte,
    note: `AWS Price List${sourceOf(listed, known.now)}`,
  };
}

// The money and time that training in another region costs before the first step and on the way back.

export interface TransferQuestion {
  readonly home: string;
  readonly region: string;
  /** Sums all shards that the run trains on; undefined where no manifest says. */
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
    seconds: START_SECONDS + there / assumed.copyBytes,
    priceNote: out.note,
  };
}
