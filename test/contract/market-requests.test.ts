/** Requests of the market and the catalog and their answers, against AWS's own description of both. */

import {
  DescribeCapacityBlockOfferingsCommand,
  DescribeInstanceTypesCommand,
  DescribeSpotPriceHistoryCommand,
  EC2Client,
  GetSpotPlacementScoresCommand,
} from '@aws-sdk/client-ec2';
import { GetProductsCommand, PricingClient } from '@aws-sdk/client-pricing';
import { SageMakerClient, SearchTrainingPlanOfferingsCommand } from '@aws-sdk/client-sagemaker';
import { requestViolations, type ServiceModel } from '@tidewheel/emulators/sagemaker/api/service-model.ts';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, expect, it } from 'vitest';
import { describeHardware, ec2Market } from '../../functions/aws/market/ec2-market.ts';
import { offerSource } from '../../functions/aws/market/offers.ts';
import { ec2ListPrices, listPrices, transferPrices } from '../../functions/aws/market/price-list.ts';
import { entry } from '../support/builders/instance-type-entry.ts';
import { loadModel } from './botocore.ts';

const ec2 = loadModel('ec2/2016-11-15');
const sagemaker = loadModel('sagemaker/2017-07-24');
const pricing = loadModel('pricing/2017-10-15');
const ec2Client = mockClient(EC2Client);
const pricingClient = mockClient(PricingClient);
const sageMakerClient = mockClient(SageMakerClient);

beforeEach(() => {
  ec2Client.reset();
  pricingClient.reset();
  sageMakerClient.reset();
  sageMakerClient.onAnyCommand().resolves({});
  ec2Client.onAnyCommand().resolves({});
  pricingClient.onAnyCommand().resolves({ PriceList: [] });
});

const inputs = (calls: readonly { readonly args: readonly { readonly input: unknown }[] }[]): unknown[] =>
  calls.map(({ args }) => args[0]?.input);

it('hardware requests are valid for EC2', async () => {
  const many = Array.from({ length: 450 }, (_, k) => `x${k}.large`);
  await describeHardware(new EC2Client({ region: 'us-east-1' }), many);
  const sent = inputs(ec2Client.commandCalls(DescribeInstanceTypesCommand));
  expect(sent).toHaveLength(3);
  expect(sent.flatMap((each) => requestViolations(ec2, 'DescribeInstanceTypes', each))).toEqual([]);
});

it('score and Spot price requests are valid', async () => {
  const market = ec2Market({
    ec2: new EC2Client({ region: 'us-east-1' }),
    region: 'us-east-1',
    clock: { now: () => new Date('2026-11-20T12:00:00Z') },
  });
  await market.scores(['g5.xlarge'], 5);
  await market.spotPrices(['g5.xlarge']);
  const [scores] = inputs(ec2Client.commandCalls(GetSpotPlacementScoresCommand));
  const [prices] = inputs(ec2Client.commandCalls(DescribeSpotPriceHistoryCommand));
  expect(requestViolations(ec2, 'GetSpotPlacementScores', scores)).toEqual([]);
  expect(requestViolations(ec2, 'DescribeSpotPriceHistory', prices)).toEqual([]);
});

it('requests for offers are valid', async () => {
  const ask = offerSource({ ec2: () => new EC2Client({}), sageMaker: () => new SageMakerClient({}) });
  const endsBefore = new Date('2026-12-20');
  const question = { instanceType: 'p5.48xlarge', instances: 64, hours: 4_368, endsBefore };
  await ask({ ...question, kind: 'capacity-block' });
  await ask({ ...question, kind: 'training-plan' });
  const [blocks] = inputs(ec2Client.commandCalls(DescribeCapacityBlockOfferingsCommand));
  const [plans] = inputs(sageMakerClient.commandCalls(SearchTrainingPlanOfferingsCommand));
  expect(requestViolations(ec2, 'DescribeCapacityBlockOfferings', blocks)).toEqual([]);
  expect(requestViolations(sagemaker, 'SearchTrainingPlanOfferings', plans)).toEqual([]);
});

it('price requests are valid for the Price List', async () => {
  const client = new PricingClient({ region: 'us-east-1' });
  await listPrices(client, ['g5.xlarge'], 'us-east-1');
  await ec2ListPrices(client, ['g5.xlarge'], 'us-east-1');
  await transferPrices(client, 'us-east-1', ['us-west-2']);
  const sent = inputs(pricingClient.commandCalls(GetProductsCommand));
  expect(sent).toHaveLength(3);
  expect(sent.flatMap((each) => requestViolations(pricing, 'GetProducts', each))).toEqual([]);
});

/** Fields of a value that the shape has not, with their paths. */
function unknownFields(model: ServiceModel, shapeName: string, value: unknown, path = ''): string[] {
  const shape = model.shapes[shapeName];
  if (Array.isArray(value))
    return value.flatMap((each: unknown) =>
      unknownFields(model, shape?.member?.shape ?? '', each, `${path}[]`),
    );
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    const member = shape?.members?.[name];
    return member === undefined
      ? [`${path}.${name}`]
      : unknownFields(model, member.shape, inner, `${path}.${name}`);
  });
}

it('EC2 sends every field that is read', () => {
  const gpu = entry('p4d.24xlarge');
  const neuron = { NeuronInfo: { NeuronDevices: [{ Name: '', Count: 1, MemoryInfo: { SizeInMiB: 1 } }] } };
  const disks = { InstanceStorageInfo: { TotalSizeInGB: 1, NvmeSupport: '', Disks: [{ Type: '' }] } };
  expect(unknownFields(ec2, 'InstanceTypeInfo', { ...gpu, ...neuron, ...disks })).toEqual([]);
  expect(unknownFields(ec2, 'InstanceTypeInfo', { BandwidthInfo: {} })).toEqual(['.BandwidthInfo']);
});
