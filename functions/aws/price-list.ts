/** SageMaker's On-Demand prices for training, asked of the AWS Price List. */
import { type PricingClient, paginateGetProducts } from '@aws-sdk/client-pricing';
import { type ListPrice, priceOf } from '../core/catalog/price-list.ts';
import type { Answer } from '../core/placement/port.ts';
import { answered } from './market/answers.ts';

/**
 * One question a type: the list filters by equality only. `component` Training tells a training instance from a
 * notebook of the same name.
 * @param pricing a client of a region that has an endpoint: `priceListRegion`
 */
export const listPrices = (
  pricing: PricingClient,
  types: readonly string[],
  region: string,
): Promise<Answer<readonly ListPrice[]>> =>
  answered(async () => {
    const found: ListPrice[] = [];
    for (const type of new Set(types)) found.push(...(await pricesOf(pricing, type, region)));
    return found;
  });

async function pricesOf(pricing: PricingClient, type: string, region: string): Promise<readonly ListPrice[]> {
  const is = (Field: string, Value: string) => ({ Type: 'TERM_MATCH' as const, Field, Value });
  const pages = paginateGetProducts(
    { client: pricing, stopOnSameToken: true },
    {
      ServiceCode: 'AmazonSageMaker',
      FormatVersion: 'aws_v1',
      Filters: [is('regionCode', region), is('component', 'Training'), is('instanceName', `ml.${type}`)],
    },
  );
  const found: ListPrice[] = [];
  for await (const { PriceList } of pages)
    for (const text of PriceList ?? []) {
      const price = priceOf(String(text), region);
      if (price !== undefined) found.push(price);
    }
  // More than one row for a type: the dearer, so that a budget holds.
  return found.toSorted((a, b) => b.hourlyUsd - a.hourlyUsd).slice(0, 1);
}
