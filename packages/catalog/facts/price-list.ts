/**
 * Prices out of the answers of the AWS Price List, each a JSON text of its own: SageMaker's for training, EC2's on demand,
 * and those of data that leaves a region for another.
 * https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api-fetching-price-list-files-manually.html
 */

import { list, time } from '@tidewheel/kit/fields.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';

/** USD per hour of one instance. */
const pricedType = z.object({
  /** EC2 name, without `ml.` */
  instanceType: z.string(),
  hourlyUsd: z.number(),
  /** From when the price holds, as the list says it. */
  effective: z.string().optional(),
});
export type ListPrice = Readonly<z.output<typeof pricedType>>;

/** Of data that leaves the region for another. 10^9 bytes are taken for a GB of the list. */
const transferPrice = z.object({
  to: z.string(),
  usdPerGigabyte: z.number(),
  effective: z.string().optional(),
});
export type TransferPrice = Readonly<z.output<typeof transferPrice>>;

/** A price as it is kept. */
export type KeptPrice<T extends ListPrice | TransferPrice> = T & {
  /** When the list was last read and named it. */
  readonly readAt: string;
};

const readAt = { readAt: time };

/** What was read of the list for a region. */
export const listPricesSchema = z.object({
  region: z.string(),
  /** When the list last answered every question. */
  at: time,
  /** The requested types, whether the list has them or not. */
  requested: list(z.string()),
  /** SageMaker's, for training on demand. */
  prices: list(pricedType.extend(readAt)),
  /** EC2's, on demand: Linux, shared tenancy. */
  ec2: list(pricedType.extend(readAt)),
  transfer: list(transferPrice.extend(readAt)),
  /** The regions whose prices of transfer were requested. */
  requestedTo: list(z.string()),
});
export type ListPrices = Readonly<z.output<typeof listPricesSchema>>;

const onDemandTerms = z.object({
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
});

const rowOf = <T extends z.ZodType>(attributes: T) =>
  z.object({ product: z.object({ attributes }), terms: onDemandTerms });

const trainingRow = rowOf(z.object({ instanceName: z.string(), regionCode: z.string() }));
const ec2Row = rowOf(
  z.object({
    instanceType: z.string(),
    regionCode: z.string(),
    operatingSystem: z.literal('Linux'),
    tenancy: z.literal('Shared'),
    preInstalledSw: z.literal('NA'),
    capacitystatus: z.literal('Used'),
  }),
);
const transferRow = rowOf(
  z.object({ fromRegionCode: z.string(), toRegionCode: z.string(), transferType: z.string() }),
);

interface Price {
  readonly usd: number;
  readonly effective?: string | undefined;
}

/** The dearest of a row, so that a budget holds; undefined without one (free tier and placeholders are 0). */
function dearest({ OnDemand }: z.output<typeof onDemandTerms>, unit: RegExp): Price | undefined {
  const terms = Object.values(OnDemand).flatMap(({ effectiveDate, priceDimensions }) =>
    Object.values(priceDimensions).flatMap((dimension): Price[] => {
      const usd = Number(dimension.pricePerUnit.USD);
      const counts = unit.test(dimension.unit) && Number.isFinite(usd) && usd > 0;
      return counts ? [{ usd, effective: effectiveDate?.slice(0, 10) }] : [];
    }),
  );
  return terms.toSorted((a, b) => b.usd - a.usd)[0];
}

const HOURS = /^hrs?$|^hours?$/i;
const GIGABYTES = /^gb$|^gigabytes?$/i;

/** undefined: a row of another region or currency, of no price, or of a new format. */
export function priceOf(text: string, region: string): ListPrice | undefined {
  const row = trainingRow.safeParse(parseJson(text));
  if (!row.success) return undefined;
  const { attributes } = row.data.product;
  if (attributes.regionCode !== region || !attributes.instanceName.startsWith('ml.')) return undefined;
  return listPrice(attributes.instanceName.slice('ml.'.length), dearest(row.data.terms, HOURS));
}

/** The same of EC2: undefined also for another system, tenancy or licence than training hosts have. */
export function ec2PriceOf(text: string, region: string): ListPrice | undefined {
  const row = ec2Row.safeParse(parseJson(text));
  if (!row.success || row.data.product.attributes.regionCode !== region) return undefined;
  return listPrice(row.data.product.attributes.instanceType, dearest(row.data.terms, HOURS));
}

const listPrice = (instanceType: string, price: Price | undefined): ListPrice | undefined =>
  price && { instanceType, hourlyUsd: price.usd, effective: price.effective };

/** As the list calls what is paid for bytes that one region sends to another. */
export const BETWEEN_REGIONS = 'InterRegion Outbound';

/** undefined: a row of other regions, of another kind of transfer, of no price, or of a new format. */
export function transferPriceOf(
  text: string,
  { from, to }: { readonly from: string; readonly to: string },
): TransferPrice | undefined {
  const row = transferRow.safeParse(parseJson(text));
  if (!row.success) return undefined;
  const { fromRegionCode, toRegionCode, transferType } = row.data.product.attributes;
  if (fromRegionCode !== from || toRegionCode !== to || transferType !== BETWEEN_REGIONS) return undefined;
  const price = dearest(row.data.terms, GIGABYTES);
  return price && { to, usdPerGigabyte: price.usd, effective: price.effective };
}

/** The Price List has endpoints in a few regions only, each of which knows the prices of all regions of its partition. */
export function priceListRegion(region: string): string {
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  if (region.startsWith('eu-')) return 'eu-central-1';
  return region.startsWith('ap-') ? 'ap-south-1' : 'us-east-1';
}
