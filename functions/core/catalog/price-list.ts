/**
 * SageMaker's On-Demand prices out of the answers of the AWS Price List, each a JSON text of its own.
 * https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api-fetching-price-list-files-manually.html
 */
import * as z from 'zod';

/** USD per hour of one instance. */
export interface ListPrice {
  /** EC2 name, without `ml.` */
  readonly instanceType: string;
  readonly hourlyUsd: number;
  /** From when the price holds, as the list says it. */
  readonly effective?: string | undefined;
}

/** What was read of the list for a region. */
export interface ListPrices {
  readonly region: string;
  readonly at: string;
  /** The types that were asked for, whether the list has them or not. */
  readonly asked: readonly string[];
  readonly prices: readonly ListPrice[];
}

const productSchema = z.object({
  product: z.object({ attributes: z.object({ instanceName: z.string(), regionCode: z.string() }) }),
  terms: z.object({
    OnDemand: z.record(
      z.string(),
      z.object({
        effectiveDate: z.string().optional(),
        priceDimensions: z.record(
          z.string(),
          z.object({ unit: z.string(), pricePerUnit: z.object({ USD: z.string().optional() }) }),
        ),
      }),
    ),
  }),
});

/** undefined: a row of another region or currency, of no price (free tier and placeholders are 0), or of a new format. */
export function priceOf(text: string, region: string): ListPrice | undefined {
  const row = productSchema.safeParse(parsed(text));
  if (!row.success) return undefined;
  const { attributes } = row.data.product;
  if (attributes.regionCode !== region || !attributes.instanceName.startsWith('ml.')) return undefined;
  const terms = Object.values(row.data.terms.OnDemand).flatMap(({ effectiveDate, priceDimensions }) =>
    Object.values(priceDimensions).flatMap(({ unit, pricePerUnit }) => {
      const hourlyUsd = Number(pricePerUnit.USD);
      const counts = /^hrs?$|^hours?$/i.test(unit) && Number.isFinite(hourlyUsd) && hourlyUsd > 0;
      return counts ? [{ hourlyUsd, effective: effectiveDate?.slice(0, 10) }] : [];
    }),
  );
  const dearest = terms.toSorted((a, b) => b.hourlyUsd - a.hourlyUsd)[0];
  return dearest && { instanceType: attributes.instanceName.slice('ml.'.length), ...dearest };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The Price List has endpoints in a few regions only, each of which knows the prices of all regions of its partition. */
export function priceListRegion(region: string): string {
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  if (region.startsWith('eu-')) return 'eu-central-1';
  return region.startsWith('ap-') ? 'ap-south-1' : 'us-east-1';
}
