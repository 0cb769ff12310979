/** The AWS Price List: rows of the shape that its documentation shows, made for this test. */
import { GetProductsCommand, PricingClient } from '@aws-sdk/client-pricing';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { listPrices } from '../../../functions/aws/price-list.ts';
import { priceListRegion, priceOf } from '../../../functions/core/catalog/price-list.ts';
import { pricedFrom } from '../../../functions/core/placement/market-memory.ts';
import { market } from '../placement/fixtures.ts';

const pricing = mockClient(PricingClient);
const ask = (types: readonly string[]) =>
  listPrices(new PricingClient({ region: 'us-east-1' }), types, 'us-east-1');

/** aws_v1: terms by offer term code, price dimensions by rate code, prices as text. */
const row = (usd: string, change: { region?: string; unit?: string; name?: string } = {}): string =>
  JSON.stringify({
    product: {
      productFamily: 'ML Instance',
      sku: 'ABCD1234EFGH5678',
      attributes: {
        regionCode: change.region ?? 'us-east-1',
        component: 'Training',
        instanceName: change.name ?? 'ml.g5.xlarge',
        instanceType: 'ml.g5.xlarge-Training',
        usagetype: 'USE1-Train:ml.g5.xlarge',
        operation: 'RunInstance',
      },
    },
    serviceCode: 'AmazonSageMaker',
    terms: {
      OnDemand: {
        'ABCD1234EFGH5678.JRTCKXETXF': {
          effectiveDate: '2026-11-01T00:00:00Z',
          offerTermCode: 'JRTCKXETXF',
          priceDimensions: {
            'ABCD1234EFGH5678.JRTCKXETXF.6YS6EN2CT7': {
              unit: change.unit ?? 'Hrs',
              endRange: 'Inf',
              pricePerUnit: { USD: usd },
            },
          },
        },
      },
    },
    version: '20261101000000',
    publicationDate: '2026-11-01T00:00:00Z',
  });

describe('a row of the Price List', () => {
  it('gives the hourly price and since when', () => {
    expect(priceOf(row('1.4080000000'), 'us-east-1')).toEqual({
      instanceType: 'g5.xlarge',
      hourlyUsd: 1.408,
      effective: '2026-11-01',
    });
  });

  it.each([
    ['of no price', row('0.0000000000')],
    ['of another region', row('1.4', { region: 'us-west-2' })],
    ['of another unit', row('1.4', { unit: 'Quantity' })],
    ['of another service', row('1.4', { name: 'g5.xlarge' })],
    ['of a new format', '{"product":{"attributes":{}},"terms":{}}'],
    ['that is no JSON', '{'],
  ])('%s is passed over', (_what, text) => {
    expect(priceOf(text, 'us-east-1')).toBeUndefined();
  });
});

describe('the Price List', () => {
  beforeEach(() => pricing.reset());

  it('is asked for training instances of one region, a type at a time and over all pages', async () => {
    pricing
      .on(GetProductsCommand, { NextToken: undefined })
      .resolves({ PriceList: [row('0.0000000000')], NextToken: 'more' })
      .on(GetProductsCommand, { NextToken: 'more' })
      .resolves({ PriceList: [row('1.4080000000')] });
    expect(await ask(['g5.xlarge', 'g5.xlarge'])).toMatchObject({
      kind: 'known',
      value: [{ instanceType: 'g5.xlarge', hourlyUsd: 1.408 }],
    });
    const asked = pricing.commandCalls(GetProductsCommand).map(({ args }) => args[0].input);
    expect(asked).toHaveLength(2);
    expect(asked[0]).toMatchObject({
      ServiceCode: 'AmazonSageMaker',
      FormatVersion: 'aws_v1',
      Filters: [
        { Type: 'TERM_MATCH', Field: 'regionCode', Value: 'us-east-1' },
        { Type: 'TERM_MATCH', Field: 'component', Value: 'Training' },
        { Type: 'TERM_MATCH', Field: 'instanceName', Value: 'ml.g5.xlarge' },
      ],
    });
  });

  it('that cannot be asked is a value with a remedy', async () => {
    const refused = Object.assign(new Error('no'), { name: 'AccessDeniedException' });
    pricing.on(GetProductsCommand).rejects(refused);
    expect(await ask(['g5.xlarge'])).toMatchObject({
      kind: 'unknown',
      failure: 'notAuthorised',
      message: expect.stringContaining('role'),
    });
  });

  it('has an endpoint near each region', () => {
    const regions = ['us-west-2', 'sa-east-1', 'eu-west-1', 'ap-northeast-1', 'cn-north-1'];
    expect(regions.map(priceListRegion)).toEqual([
      'us-east-1',
      'us-east-1',
      'eu-central-1',
      'ap-south-1',
      'cn-northwest-1',
    ]);
  });
});

describe('prices that were read of the list', () => {
  const now = new Date('2026-11-20T12:00:00Z');
  const list = {
    region: 'us-east-1',
    at: '2026-11-17T12:00:00.000Z',
    asked: ['g5.xlarge', 'g9.xlarge'],
    prices: [
      { instanceType: 'g5.xlarge', hourlyUsd: 1.7, effective: '2026-11-01' },
      { instanceType: 'g9.xlarge', hourlyUsd: 2 },
    ],
  };
  const wanted = ['g5.xlarge', 'g6.xlarge', 'g9.xlarge'];

  it("take the snapshot's places, say how old they are, and add types that are newer than it", () => {
    const { onDemandPrices } = pricedFrom(list, market(), { wanted, now });
    expect(onDemandPrices).toMatchObject([
      {
        instanceType: 'g5.xlarge',
        hourlyUsd: 1.7,
        basis: 'asked',
        note: 'AWS Price List, in force since 2026-11-01, read 3 days ago',
        ec2HourlyUsd: 1,
      },
      { instanceType: 'g6.xlarge', hourlyUsd: 1.125, basis: 'listed' },
      { instanceType: 'g9.xlarge', hourlyUsd: 2, basis: 'asked' },
    ]);
  });

  it('leave another region, and a world without them, as they were', () => {
    expect(pricedFrom({ ...list, region: 'eu-west-1' }, market(), { wanted, now })).toEqual(market());
    expect(pricedFrom(undefined, market(), { wanted, now })).toEqual(market());
  });
});
