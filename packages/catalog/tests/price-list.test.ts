/** The AWS Price List: rows of the shape that its documentation shows, made for this test. */
import { GetProductsCommand, PricingClient } from '@aws-sdk/client-pricing';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { ec2ListPrices, listPrices, transferPrices } from '../../../functions/aws/market/price-list.ts';
import { market } from '../../../test/support/builders/placement.ts';
import { pricedFrom, transferOf } from '../../placement/candidates/pool-costs.ts';
import { ec2PriceOf, priceListRegion, priceOf, transferPriceOf } from '../facts/price-list.ts';

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

interface Terms {
  readonly usd: string;
  readonly unit: string;
}

/** A row of another service, with the same terms. */
const rowWith = (serviceCode: string, attributes: Readonly<Record<string, string>>, { usd, unit }: Terms) =>
  JSON.stringify({
    product: { sku: 'ABCD1234EFGH5678', attributes },
    serviceCode,
    terms: {
      OnDemand: {
        'ABCD1234EFGH5678.JRTCKXETXF': {
          effectiveDate: '2026-11-01T00:00:00Z',
          priceDimensions: { 'ABCD1234EFGH5678.JRTCKXETXF.6YS6EN2CT7': { unit, pricePerUnit: { USD: usd } } },
        },
      },
      Reserved: {},
    },
  });

const ec2Row = (usd: string, change: Readonly<Record<string, string>> = {}): string =>
  rowWith(
    'AmazonEC2',
    {
      regionCode: 'us-east-1',
      instanceType: 'g5.xlarge',
      operatingSystem: 'Linux',
      tenancy: 'Shared',
      preInstalledSw: 'NA',
      capacitystatus: 'Used',
      usagetype: 'BoxUsage:g5.xlarge',
      ...change,
    },
    { usd, unit: 'Hrs' },
  );

const transferRow = (usd: string, change: Readonly<Record<string, string>> = {}): string =>
  rowWith(
    'AWSDataTransfer',
    {
      fromRegionCode: 'us-east-1',
      toRegionCode: 'us-west-2',
      transferType: 'InterRegion Outbound',
      usagetype: 'USE1-USW2-AWS-Out-Bytes',
      operation: '',
      ...change,
    },
    { usd, unit: 'GB' },
  );

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

describe('a row of EC2', () => {
  it('gives the hourly price on demand', () => {
    const price = { instanceType: 'g5.xlarge', hourlyUsd: 1.006, effective: '2026-11-01' };
    expect(ec2PriceOf(ec2Row('1.0060000000'), 'us-east-1')).toEqual(price);
  });

  it.each([
    ['of another region', { regionCode: 'us-west-2' }],
    ['with a licence', { preInstalledSw: 'SQL Std' }],
    ['of another system', { operatingSystem: 'Windows' }],
    ['of a host of its own', { tenancy: 'Dedicated' }],
    ['of a reservation that is not used', { capacitystatus: 'UnusedCapacityReservation' }],
  ])('%s is passed over', (_what, change) => {
    expect(ec2PriceOf(ec2Row('1.0', change), 'us-east-1')).toBeUndefined();
  });
});

describe('a row of transfer', () => {
  const way = { from: 'us-east-1', to: 'us-west-2' };
  it('prices a gigabyte that leaves one region for another', () => {
    const price = { to: 'us-west-2', usdPerGigabyte: 0.02, effective: '2026-11-01' };
    expect(transferPriceOf(transferRow('0.0200000000'), way)).toEqual(price);
  });

  it.each([
    ['of the way back', { fromRegionCode: 'us-west-2', toRegionCode: 'us-east-1' }],
    ['to the internet', { transferType: 'AWS Outbound' }],
    ['that comes in', { transferType: 'InterRegion Inbound' }],
  ])('%s is passed over', (_what, change) => {
    expect(transferPriceOf(transferRow('0.02', change), way)).toBeUndefined();
  });

  it('of no price is passed over', () => {
    expect(transferPriceOf(transferRow('0.0000000000'), way)).toBeUndefined();
  });
});

describe('the Price List', () => {
  beforeEach(() => pricing.reset());

  it("requests one region's training instances by type and page", async () => {
    pricing
      .on(GetProductsCommand, { NextToken: undefined })
      .resolves({ PriceList: [row('0.0000000000')], NextToken: 'more' })
      .on(GetProductsCommand, { NextToken: 'more' })
      .resolves({ PriceList: [row('1.4080000000')] });
    expect(await ask(['g5.xlarge', 'g5.xlarge'])).toMatchObject({
      kind: 'known',
      value: [{ instanceType: 'g5.xlarge', hourlyUsd: 1.408 }],
    });
    const requested = pricing.commandCalls(GetProductsCommand).map(({ args }) => args[0].input);
    expect(requested).toHaveLength(2);
    expect(requested[0]).toMatchObject({
      ServiceCode: 'AmazonSageMaker',
      FormatVersion: 'aws_v1',
      Filters: [
        { Type: 'TERM_MATCH', Field: 'regionCode', Value: 'us-east-1' },
        { Type: 'TERM_MATCH', Field: 'component', Value: 'Training' },
        { Type: 'TERM_MATCH', Field: 'instanceName', Value: 'ml.g5.xlarge' },
      ],
    });
  });

  it('requests EC2 and transfer prices, and takes the higher', async () => {
    const client = new PricingClient({ region: 'us-east-1' });
    pricing
      .on(GetProductsCommand, { ServiceCode: 'AmazonEC2' })
      .resolves({ PriceList: [ec2Row('1.0060000000')] })
      .on(GetProductsCommand, { ServiceCode: 'AWSDataTransfer' })
      .resolves({ PriceList: [transferRow('0.0100000000'), transferRow('0.0200000000')] });
    expect(await ec2ListPrices(client, ['g5.xlarge'], 'us-east-1')).toMatchObject({
      value: [{ instanceType: 'g5.xlarge', hourlyUsd: 1.006 }],
    });
    expect(await transferPrices(client, 'us-east-1', ['us-west-2', 'eu-west-1'])).toMatchObject({
      value: [{ to: 'us-west-2', usdPerGigabyte: 0.02 }],
    });
  });

  it('that is unreachable is a value with a remedy', async () => {
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
  const readAt = '2026-11-17T12:00:00.000Z';
  const list = {
    region: 'us-east-1',
    at: readAt,
    requested: ['g5.xlarge', 'g9.xlarge'],
    requestedTo: [],
    prices: [
      { instanceType: 'g5.xlarge', hourlyUsd: 1.7, effective: '2026-11-01', readAt },
      { instanceType: 'g9.xlarge', hourlyUsd: 2, readAt },
    ],
    ec2: [],
    transfer: [],
  };
  const wanted = ['g5.xlarge', 'g6.xlarge', 'g9.xlarge'];

  it("replace the snapshot's, with age, and add newer types", () => {
    const { onDemandPrices } = pricedFrom(list, market(), { wanted, now });
    expect(onDemandPrices).toMatchObject([
      {
        instanceType: 'g5.xlarge',
        hourlyUsd: 1.7,
        basis: 'quoted',
        note: 'AWS Price List, in force since 2026-11-01, read 3 days ago',
        ec2HourlyUsd: 1,
      },
      { instanceType: 'g6.xlarge', hourlyUsd: 1.125, basis: 'listed' },
      { instanceType: 'g9.xlarge', hourlyUsd: 2, basis: 'quoted' },
    ]);
  });

  it('of EC2 are the base of Spot and estimates', () => {
    const ec2 = [
      { instanceType: 'g5.xlarge', hourlyUsd: 1.1, readAt },
      { instanceType: 'g6.xlarge', hourlyUsd: 0.8, readAt },
      { instanceType: 'p9.48xlarge', hourlyUsd: 100, readAt: now.toISOString() },
    ];
    const view = market();
    const onDemandPrices = view.onDemandPrices.map((each) => ({ ...each, basis: 'estimated' as const }));
    const priced = pricedFrom(
      { ...list, ec2 },
      { ...view, onDemandPrices },
      { wanted: [...wanted, 'p9.48xlarge'], now },
    );
    expect(priced.onDemandPrices).toMatchObject([
      { instanceType: 'g5.xlarge', hourlyUsd: 1.7, ec2HourlyUsd: 1.1, basis: 'quoted' },
      { instanceType: 'g6.xlarge', hourlyUsd: 1, ec2HourlyUsd: 0.8, basis: 'estimated' },
      { instanceType: 'g9.xlarge', hourlyUsd: 2, basis: 'quoted' },
      { instanceType: 'p9.48xlarge', hourlyUsd: expect.closeTo(115), ec2HourlyUsd: 100, basis: 'estimated' },
    ]);
  });

  it("of transfer replace the table's, each way by itself", () => {
    const transfer = [{ to: 'us-west-2', usdPerGigabyte: 0.03, readAt: now.toISOString() }];
    const known = { list: { ...list, transfer }, now };
    const gigabyte = (home: string, region: string) =>
      transferOf({ home, region, datasetBytes: 1e9, attempts: [], rates: { there: known, back: known } });
    expect(gigabyte('us-east-1', 'us-west-2')).toMatchObject({
      usd: 0.03,
      priceNote: 'AWS Price List, read today',
    });
    expect(gigabyte('us-west-2', 'us-east-1').priceNote).toMatch(/^table of \d{4}-/);
    expect(gigabyte('us-east-1', 'us-east-2').usd).toBe(0.01);
  });

  it('leave other regions unchanged', () => {
    expect(pricedFrom({ ...list, region: 'eu-west-1' }, market(), { wanted, now })).toEqual(market());
    expect(pricedFrom(undefined, market(), { wanted, now })).toEqual(market());
  });
});
