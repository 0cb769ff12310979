/** What the AWS Price List says of training instances, of EC2 on demand and of transfer between regions. */
import { type PricingClient, paginateGetProducts } from '@aws-sdk/client-pricing';
import {
  BETWEEN_REGIONS,
  ec2PriceOf,
  type ListPrice,
  priceOf,
  type TransferPrice,
  transferPriceOf,
} from '../../core/catalog/price-list.ts';
import type { Answer } from '../../core/placement/model/market-source.ts';
import { answered } from './answers.ts';

interface Question {
  readonly ServiceCode: string;
  /** By equality: TERM_MATCH is the one filter that every version of the API has. */
  readonly fields: Readonly<Record<string, string>>;
}

/** `component` Training tells a training instance from a notebook of the same name. */
const trainingQuestion = (type: string, region: string): Question => ({
  ServiceCode: 'AmazonSageMaker',
  fields: { regionCode: region, component: 'Training', instanceName: `ml.${type}` },
});

/** `capacitystatus` Used tells an instance that runs from a reserved one that does not, which the list has at 0 or twice. */
const ec2Question = (type: string, region: string): Question => ({
  ServiceCode: 'AmazonEC2',
  fields: {
    regionCode: region,
    instanceType: type,
    operatingSystem: 'Linux',
    tenancy: 'Shared',
    preInstalledSw: 'NA',
    capacitystatus: 'Used',
  },
});

const transferQuestion = (from: string, to: string): Question => ({
  ServiceCode: 'AWSDataTransfer',
  fields: { fromRegionCode: from, toRegionCode: to, transferType: BETWEEN_REGIONS },
});

/** One question a type.
 * @param pricing a client of a region that has an endpoint: `priceListRegion`
 */
export const listPrices = (
  pricing: PricingClient,
  types: readonly string[],
  region: string,
): Promise<Answer<readonly ListPrice[]>> =>
  eachOf(types, async (type) => {
    const rows = await ask(pricing, trainingQuestion(type, region));
    return dearestHour(rows.flatMap((text) => priceOf(text, region) ?? []));
  });

/** EC2 On-Demand: Linux, shared tenancy, nothing installed. */
export const ec2ListPrices = (
  pricing: PricingClient,
  types: readonly string[],
  region: string,
): Promise<Answer<readonly ListPrice[]>> =>
  eachOf(types, async (type) => {
    const rows = await ask(pricing, ec2Question(type, region));
    return dearestHour(rows.flatMap((text) => ec2PriceOf(text, region) ?? []));
  });

/** Of a gigabyte that leaves `from` for each of the others. */
export const transferPrices = (
  pricing: PricingClient,
  from: string,
  others: readonly string[],
): Promise<Answer<readonly TransferPrice[]>> =>
  eachOf(others, async (to) => {
    const rows = await ask(pricing, transferQuestion(from, to));
    return rows
      .flatMap((text) => transferPriceOf(text, { from, to }) ?? [])
      .toSorted((a, b) => b.usdPerGigabyte - a.usdPerGigabyte)
      .slice(0, 1);
  });

/** More than one row for a type: the dearer, so that a budget holds. */
const dearestHour = (prices: readonly ListPrice[]): readonly ListPrice[] =>
  prices.toSorted((a, b) => b.hourlyUsd - a.hourlyUsd).slice(0, 1);

/** One after the other: the Price List throttles early. */
const eachOf = <T>(
  names: readonly string[],
  one: (name: string) => Promise<readonly T[]>,
): Promise<Answer<readonly T[]>> =>
  answered(async () => {
    const found: T[] = [];
    for (const name of new Set(names)) found.push(...(await one(name)));
    return found;
  });

async function ask(pricing: PricingClient, { ServiceCode, fields }: Question): Promise<readonly string[]> {
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
  for await (const { PriceList } of pages) rows.push(...(PriceList ?? []).map(String));
  return rows;
}
