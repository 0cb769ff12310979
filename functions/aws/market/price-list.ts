/** Reads prices of training instances, EC2 On-Demand and transfer between regions from the AWS Price List. */

import { type PricingClient, paginateGetProducts } from '@aws-sdk/client-pricing';
import {
  BETWEEN_REGIONS,
  ec2PriceOf,
  type ListPrice,
  priceOf,
  type TransferPrice,
  transferPriceOf,
} from '@tidewheel/catalog/prices.ts';
import type { MarketAnswer } from '@tidewheel/placement/market.ts';
import { answered } from './answers.ts';

/** One request per type.
 * @param pricing a client of a region that has an endpoint: `priceListRegion`
 */
export const listPrices = (
  pricing: PricingClient,
  types: readonly string[],
  region: string,
): Promise<MarketAnswer<readonly ListPrice[]>> =>
  eachOf(types, async (type) => {
    // `component` Training excludes notebook instances of the same name.
    const fields = { regionCode: region, component: 'Training', instanceName: `ml.${type}` };
    const rows = await ask(pricing, 'AmazonSageMaker', fields);
    return dearestHour(rows.flatMap((text) => priceOf(text, region) ?? []));
  });

/** EC2 On-Demand: Linux, shared tenancy, no preinstalled software. */
export const ec2ListPrices = (
  pricing: PricingClient,
  types: readonly string[],
  region: string,
): Promise<MarketAnswer<readonly ListPrice[]>> =>
  eachOf(types, async (type) => {
    const rows = await ask(pricing, 'AmazonEC2', {
      regionCode: region,
      instanceType: type,
      operatingSystem: 'Linux',
      tenancy: 'Shared',
      preInstalledSw: 'NA',
      // Excludes unused reservations, which the list has at price 0 or twice.
      capacitystatus: 'Used',
    });
    return dearestHour(rows.flatMap((text) => ec2PriceOf(text, region) ?? []));
  });

/** The price of a gigabyte from `from` to each of the others. */
export const transferPrices = (
  pricing: PricingClient,
  from: string,
  others: readonly string[],
): Promise<MarketAnswer<readonly TransferPrice[]>> =>
  eachOf(others, async (to) => {
    const fields = { fromRegionCode: from, toRegionCode: to, transferType: BETWEEN_REGIONS };
    const rows = await ask(pricing, 'AWSDataTransfer', fields);
    return rows
      .flatMap((text) => transferPriceOf(text, { from, to }) ?? [])
      .toSorted((a, b) => b.usdPerGigabyte - a.usdPerGigabyte)
      .slice(0, 1);
  });

/** Of several rows for a type the more expensive counts, so that a budget holds. */
const dearestHour = (prices: readonly ListPrice[]): readonly ListPrice[] =>
  prices.toSorted((a, b) => b.hourlyUsd - a.hourlyUsd).slice(0, 1);

/** The requests are sequential, because the Price List throttles early. */
const eachOf = <T>(
  names: readonly string[],
  one: (name: string) => Promise<readonly T[]>,
): Promise<MarketAnswer<readonly T[]>> =>
  answered(async () => {
    const found: T[] = [];
    for (const name of new Set(names)) found.push(...(await one(name)));
    return found;
  });

/** TERM_MATCH compares for equality and is the only filter in every version of the API. */
async function ask(
  pricing: PricingClient,
  ServiceCode: string,
  fields: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const Filters = Object.entries(fields).map(([Field, Value]) => ({
    Type: 'TERM_MATCH' as const,
    Field,
    Value,
  }));
  const pages = paginateGetProducts(
    { client: pricing, stopOnSameToken: true },
    { ServiceCode, FormatVersion: 'aws_v1', Filters },
  );
  const rows: string[] = [];
  for await (const { PriceList } of pages) for (const row of PriceList ?? []) rows.push(String(row));
  return rows;
}
