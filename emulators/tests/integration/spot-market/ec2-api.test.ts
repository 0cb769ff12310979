/** The market as EC2's own clients see it: the AWS SDK for JavaScript and boto3, unmodified. */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  DescribeAvailabilityZonesCommand,
  DescribeInstanceTypesCommand,
  DescribeSpotPriceHistoryCommand,
  EC2Client,
  GetSpotPlacementScoresCommand,
  paginateDescribeInstanceTypes,
  paginateDescribeSpotPriceHistory,
} from '@aws-sdk/client-ec2';
import { catalogTypes, offeredZoneIds } from '@tidewheel/catalog/catalog.ts';
import { readAnswer } from '@tidewheel/catalog/hardware.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeHardware, ec2Market } from '../../../../functions/aws/market/ec2-market.ts';
import { clientConfiguration, projectPython, TEST_KEY } from '../../../../test/support/emulator.ts';
import { keyVariables } from '../../../access/access-key.ts';
import { type LocalMarket, startLocalMarket } from '../../../spot-market/spot-market.ts';

const FAMILY = ['c5.xlarge', 'c6i.xlarge', 'm5.xlarge'];

let market: LocalMarket;
let ec2: EC2Client;

beforeAll(async () => {
  const script = {
    kind: 'trace',
    zones: {
      'use1-az1': { metadata: { gap_seconds: 3_600 }, data: [64] },
      'use1-az2': { metadata: { gap_seconds: 3_600 }, data: [1] },
      'use1-az4': { metadata: { gap_seconds: 3_600 }, data: [0] },
    },
  } as const;
  market = await startLocalMarket({
    credentials: TEST_KEY,
    script: { ...script, zones: structuredClone(script.zones) as never },
    configurationLimit: 12,
  });
  ec2 = new EC2Client(clientConfiguration(market.url));
  return () => market.close();
});

const scores = (types: readonly string[], more: object = {}) =>
  ec2.send(
    new GetSpotPlacementScoresCommand({
      InstanceTypes: [...types],
      TargetCapacity: 4,
      SingleAvailabilityZone: true,
      RegionNames: ['us-east-1'],
      ...more,
    }),
  );

const refusal = (promise: Promise<unknown>): Promise<{ name: string; message: string; status: unknown }> =>
  promise.then(
    () => ({ name: 'none', message: '', status: 200 }),
    (error: unknown) => {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      const status = error instanceof Error && '$metadata' in error ? error.$metadata : undefined;
      return { name, message, status };
    },
  );

describe('GetSpotPlacementScores', () => {
  it('ranks zones by depth', async () => {
    const { SpotPlacementScores = [], NextToken } = await scores(FAMILY);
    const byZone = Object.fromEntries(SpotPlacementScores.map((row) => [row.AvailabilityZoneId, row.Score]));
    expect(SpotPlacementScores[0]).toMatchObject({ Region: 'us-east-1', AvailabilityZoneId: 'use1-az1' });
    expect(byZone['use1-az1']).toBeGreaterThanOrEqual(9);
    expect(byZone).toMatchObject({ 'use1-az2': 2, 'use1-az4': 1, 'use1-az3': 1 });
    expect(NextToken).toBeUndefined();
  });

  it('scores two types low everywhere', async () => {
    const { SpotPlacementScores = [] } = await scores(FAMILY.slice(0, 2));
    expect(Math.max(...SpotPlacementScores.map((row) => row.Score ?? 99))).toBeLessThanOrEqual(3);
  });

  it('returns ten results, and regions by default', async () => {
    const zones = await scores(FAMILY, { RegionNames: undefined });
    expect(zones.SpotPlacementScores).toHaveLength(10);
    const regions = await scores(FAMILY, { RegionNames: undefined, SingleAvailabilityZone: false });
    expect(regions.SpotPlacementScores?.map((row) => row.AvailabilityZoneId)).not.toContain('use1-az1');
    expect(regions.SpotPlacementScores?.map((row) => row.Region)).toContain('us-east-1');
  });

  it.each([
    [{ InstanceTypes: ['x9.huge'] }, 'InvalidParameterValue', /x9\.huge/],
    [{ InstanceTypes: undefined }, 'MissingParameter', /InstanceTypes/],
    [{ TargetCapacity: undefined }, 'MissingParameter', /TargetCapacity/],
    [{ MaxResults: 5 }, 'InvalidParameterValue', /between 10 and 1000/],
    [{ RegionNames: ['mars-east-1'] }, 'InvalidParameterValue', /mars-east-1/],
    [{ DryRun: true }, 'DryRunOperation', /DryRun flag/],
  ])('refuses %j with %s', async (more, name, message) => {
    const refused = await refusal(scores(FAMILY, more));
    expect(refused).toMatchObject({ name, message: expect.stringMatching(message) });
  });
});

describe('DescribeSpotPriceHistory', () => {
  it('answers StartTime = now with every current price', async () => {
    const { SpotPriceHistory = [], NextToken } = await ec2.send(
      new DescribeSpotPriceHistoryCommand({ InstanceTypes: ['c5.xlarge'], StartTime: new Date() }),
    );
    expect(new Set(SpotPriceHistory.map((row) => row.AvailabilityZoneId)).size).toBe(SpotPriceHistory.length);
    expect(SpotPriceHistory.find((row) => row.AvailabilityZoneId === 'use1-az4')).toMatchObject({
      AvailabilityZone: 'us-east-1d',
      InstanceType: 'c5.xlarge',
      ProductDescription: 'Linux/UNIX',
      SpotPrice: expect.stringMatching(/^\d+\.\d{6}$/),
      Timestamp: expect.any(Date),
    });
    expect(NextToken).toBe('');
  });

  it('pages through a week, newest first, every row once', async () => {
    const request = {
      InstanceTypes: ['c5.xlarge', 'm5.xlarge'] as never,
      StartTime: new Date(Date.now() - 7 * 86_400_000),
    };
    const whole = await ec2.send(new DescribeSpotPriceHistoryCommand(request));
    const rows = [];
    for await (const page of paginateDescribeSpotPriceHistory({ client: ec2, pageSize: 17 }, request)) {
      rows.push(...(page.SpotPriceHistory ?? []));
    }
    expect(rows.length).toBeGreaterThan(100);
    expect(rows).toEqual(whole.SpotPriceHistory);
    const times = rows.map((row) => row.Timestamp?.getTime() ?? 0);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    // For each pool the last change before the start belongs to the answer.
    const old = rows.filter((row) => (row.Timestamp?.getTime() ?? 0) <= request.StartTime.getTime());
    const pools = new Set(rows.map((row) => `${row.InstanceType} ${row.AvailabilityZoneId}`));
    expect(old).toHaveLength(pools.size);
  });

  it('prices known types beside an unknown one', async () => {
    const source = ec2Market({ ec2, region: 'us-east-1', clock: { now: () => new Date() } });
    const answer = await source.spotPrices(['c5.xlarge', 'x9.huge', 'm5.xlarge']);
    const prices = answer.kind === 'known' ? answer.value : [];
    expect(new Set(prices.map(({ instanceType }) => instanceType))).toEqual(
      new Set(['c5.xlarge', 'm5.xlarge']),
    );
    expect(prices.every(({ basis }) => basis === 'quoted')).toBe(true);
  });

  it('takes a zone by name or id, not both', async () => {
    const ask = (zone: object) =>
      ec2.send(
        new DescribeSpotPriceHistoryCommand({ InstanceTypes: ['c5.xlarge'], StartTime: new Date(), ...zone }),
      );
    const byName = await ask({ AvailabilityZone: 'us-east-1b' });
    const byId = await ask({ AvailabilityZoneId: 'use1-az2' });
    expect(byName.SpotPriceHistory).toHaveLength(1);
    expect(byId.SpotPriceHistory).toEqual(byName.SpotPriceHistory);
    const both = ask({ AvailabilityZone: 'us-east-1b', AvailabilityZoneId: 'use1-az2' });
    expect(await refusal(both)).toMatchObject({ name: 'InvalidParameterCombination' });
  });

  it('shows higher prices for a dry pool', () => {
    expect(market.spotDiscount('c5.xlarge', 'use1-az4')).toBeGreaterThan(
      market.spotDiscount('c5.xlarge', 'use1-az1'),
    );
  });
});

describe('the catalog', () => {
  it('is read whole over all pages', async () => {
    const answer = await describeHardware(ec2, [...catalogTypes(), 'x9.huge']);
    const readings = answer.kind === 'known' ? answer.value.map((each) => readAnswer(each)) : [answer];
    const offered = catalogTypes().filter((type) => offeredZoneIds(type, 'us-east-1') !== undefined);
    expect(readings.filter(({ kind }) => kind !== 'asInSnapshot')).toEqual([]);
    expect(readings).toHaveLength(offered.length);
  });

  it('is described by type, with its GPUs', async () => {
    const { InstanceTypes } = await ec2.send(
      new DescribeInstanceTypesCommand({ InstanceTypes: ['p4d.24xlarge', 'c5.xlarge'] }),
    );
    expect(InstanceTypes?.map((type) => type.InstanceType)).toEqual(['p4d.24xlarge', 'c5.xlarge']);
    expect(InstanceTypes?.[0]).toMatchObject({
      VCpuInfo: { DefaultVCpus: 96 },
      GpuInfo: { Gpus: [{ Name: 'A100', Manufacturer: 'NVIDIA', Count: 8 }] },
      NetworkInfo: { EfaSupported: true },
    });
    expect(InstanceTypes?.[1]?.GpuInfo).toBeUndefined();
  });

  it('is filtered by wildcard and paged', async () => {
    const names: (string | undefined)[] = [];
    const filters = [{ Name: 'instance-type', Values: ['g5*'] }];
    for await (const page of paginateDescribeInstanceTypes(
      { client: ec2, pageSize: 5 },
      { Filters: filters },
    )) {
      names.push(...(page.InstanceTypes ?? []).map((type) => type.InstanceType));
    }
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !name?.startsWith('g5.'))).toEqual([]);
    const unknown = ec2.send(
      new DescribeInstanceTypesCommand({ Filters: [{ Name: 'colour', Values: ['red'] }] }),
    );
    expect(await refusal(unknown)).toMatchObject({ name: 'InvalidParameterValue' });
  });

  it('says which types there are not', async () => {
    const requested = ec2.send(new DescribeInstanceTypesCommand({ InstanceTypes: ['x9.huge' as never] }));
    expect(await refusal(requested)).toMatchObject({ name: 'InvalidInstanceType' });
  });

  it('answers for the region that a client signs for', async () => {
    const west = new EC2Client({ ...clientConfiguration(market.url), region: 'us-west-2' });
    const { AvailabilityZones } = await west.send(new DescribeAvailabilityZonesCommand({}));
    expect(AvailabilityZones?.[0]).toMatchObject({
      ZoneName: 'us-west-2a',
      ZoneId: 'usw2-az1',
      RegionName: 'us-west-2',
      State: 'available',
    });
  });
});

it('boto3 reads every answer', async () => {
  const script = path.join(import.meta.dirname, 'ask_with_boto3.py');
  const { stdout } = await promisify(execFile)(projectPython(), [script, market.url], {
    env: { ...process.env, ...keyVariables(TEST_KEY) },
  });
  expect(JSON.parse(stdout)).toEqual({
    best: 'use1-az1',
    regions: ['us-east-1'],
    price: expect.stringMatching(/^\d\.\d{6}$/),
    priceIsBeforeNow: true,
    pages: expect.any(Number),
    zones: ['use1-az1', 'use1-az2', 'use1-az3', 'use1-az4', 'use1-az5', 'use1-az6'],
    gpuMemoryMib: 22_888,
    refusal: ['InvalidParameterValue', 400],
  });
});

/** Last: it uses up the day's configurations. */
it('a new configuration beyond the limit is refused', async () => {
  await scores(FAMILY);
  const answers: string[] = [];
  for (let target = 100; target < 112; target += 1) {
    answers.push((await refusal(scores(FAMILY, { TargetCapacity: target }))).name);
  }
  expect(answers.at(-1)).toBe('MaxConfigLimitExceeded');
  expect((await scores(FAMILY.toReversed())).SpotPlacementScores).not.toHaveLength(0);
});
