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
import type { MarketView, OnDemandPrice } from '../model/market-source.ts';

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

export interface TransferRate {
  readonly usdPerGigabyte: number;
  readonly note: string;
}

/** USD a gigabyte from one region to another: the list's price, else the snapshot's. */
export function transferRate(
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
