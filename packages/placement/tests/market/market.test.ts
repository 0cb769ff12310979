import {
  DescribeAvailabilityZonesCommand,
  DescribeSpotPriceHistoryCommand,
  EC2Client,
  GetSpotPlacementScoresCommand,
} from '@aws-sdk/client-ec2';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { ec2Market } from '../../../../functions/aws/market/ec2-market.ts';
import { readMarket } from '../../records/market-history.ts';

const ec2 = mockClient(EC2Client);
let now = new Date('2026-11-20T12:00:00Z');
const market = () =>
  ec2Market({ ec2: new EC2Client({ region: 'us-east-1' }), region: 'us-east-1', clock: { now: () => now } });

const named = (name: string) => Object.assign(new Error('from AWS'), { name });

beforeEach(() => {
  ec2.reset();
  now = new Date('2026-11-20T12:00:00Z');
  ec2.on(DescribeAvailabilityZonesCommand).resolves({
    AvailabilityZones: [{ ZoneId: 'use1-az1', ZoneName: 'us-east-1c' }],
  });
});

describe('placement scores', () => {
  it('are requested per zone, for three types or more', async () => {
    ec2
      .on(GetSpotPlacementScoresCommand, { NextToken: undefined })
      .resolves({ SpotPlacementScores: [{ AvailabilityZoneId: 'use1-az1', Score: 9 }], NextToken: 'more' })
      .on(GetSpotPlacementScoresCommand, { NextToken: 'more' })
      .resolves({ SpotPlacementScores: [{ AvailabilityZoneId: 'use1-az2', Score: 2 }] });
    const answer = await market().scores(['g5.xlarge'], 3);
    expect(answer).toMatchObject({
      kind: 'known',
      value: [
        { zoneId: 'use1-az1', score: 9 },
        { zoneId: 'use1-az2', score: 2 },
      ],
    });
    const sent = ec2.commandCalls(GetSpotPlacementScoresCommand)[0]?.args[0].input;
    expect(sent).toMatchObject({
      TargetCapacity: 4,
      SingleAvailabilityZone: true,
      RegionNames: ['us-east-1'],
    });
    expect(sent?.InstanceTypes).toContain('g5.xlarge');
    expect(sent?.InstanceTypes?.length).toBeGreaterThanOrEqual(3);
    expect(answer.kind === 'known' && answer.notes.join()).toMatch(/filled up with .* for 4 nodes/s);
  });

  it('are not requested without three substitutable types', async () => {
    expect(await market().scores(['p5.4xlarge'], 1)).toMatchObject({
      kind: 'unknown',
      message: expect.stringContaining('name three interchangeable types') as string,
    });
    expect(ec2.commandCalls(GetSpotPlacementScoresCommand)).toHaveLength(0);
  });

  it('are not requested again within five minutes', async () => {
    ec2.on(GetSpotPlacementScoresCommand).resolves({ SpotPlacementScores: [] });
    const source = market();
    await source.scores(['g5.xlarge', 'g6.xlarge', 'g4dn.xlarge'], 2);
    await source.scores(['g4dn.xlarge', 'g6.xlarge', 'g5.xlarge'], 2);
    expect(ec2.commandCalls(GetSpotPlacementScoresCommand)).toHaveLength(1);
    now = new Date(now.getTime() + 301_000);
    await source.scores(['g5.xlarge', 'g6.xlarge', 'g4dn.xlarge'], 2);
    expect(ec2.commandCalls(GetSpotPlacementScoresCommand)).toHaveLength(2);
  });

  it.each([
    ['MaxConfigLimitExceeded', 'configurationLimit'],
    ['RequestLimitExceeded', 'throttled'],
    ['UnauthorizedOperation', 'notAuthorised'],
    ['InternalError', 'unavailable'],
  ])('that fail with %s are the value %s', async (name, failure) => {
    const source = market();
    ec2.on(GetSpotPlacementScoresCommand).rejectsOnce(named(name)).resolves({ SpotPlacementScores: [] });
    expect(await source.scores(['g5.xlarge'], 1)).toMatchObject({ kind: 'unknown', failure });
    expect(await source.scores(['g5.xlarge'], 1)).toMatchObject({ kind: 'known' });
  });
});

describe('Spot prices', () => {
  it('are the newest of each type and zone', async () => {
    const at = (minute: number) => new Date(now.getTime() - minute * 60_000);
    ec2.on(DescribeSpotPriceHistoryCommand).resolves({
      SpotPriceHistory: [
        { InstanceType: 'g5.xlarge', AvailabilityZone: 'us-east-1c', SpotPrice: '0.50', Timestamp: at(90) },
        { InstanceType: 'g5.xlarge', AvailabilityZone: 'us-east-1c', SpotPrice: '0.41', Timestamp: at(10) },
        { InstanceType: 'g5.xlarge', AvailabilityZoneId: 'use1-az2', SpotPrice: '0.60', Timestamp: at(5) },
        { InstanceType: 'g5.xlarge', AvailabilityZone: 'us-east-1z', SpotPrice: '0.10', Timestamp: at(5) },
      ],
      NextToken: '',
    });
    expect(await market().spotPrices(['g5.xlarge'])).toEqual({
      kind: 'known',
      notes: [],
      value: [
        { instanceType: 'g5.xlarge', zoneId: 'use1-az1', hourlyUsd: 0.41, basis: 'quoted' },
        { instanceType: 'g5.xlarge', zoneId: 'use1-az2', hourlyUsd: 0.6, basis: 'quoted' },
      ],
    });
    expect(ec2.commandCalls(DescribeSpotPriceHistoryCommand)[0]?.args[0].input.StartTime).toEqual(now);
  });

  it('fall back to the catalog when EC2 fails', async () => {
    ec2.on(DescribeSpotPriceHistoryCommand).rejects(named('UnauthorizedOperation'));
    const answer = await market().spotPrices(['g5.xlarge']);
    expect(answer.kind === 'known' && answer.notes[0]).toContain('notAuthorised');
    expect(answer.kind === 'known' && answer.value.every(({ basis }) => basis === 'snapshot')).toBe(true);
    expect(answer.kind === 'known' && answer.value.length).toBeGreaterThan(3);
  });
});

it('continues with known values when everything fails', async () => {
  ec2.rejects(named('RequestLimitExceeded'));
  const view = await readMarket(market(), {
    gangs: [{ instanceTypes: ['g5.xlarge', 'x9.large'], nodes: 2 }],
    spot: true,
  });
  expect(view.scores).toEqual([]);
  expect(view.onDemandPrices.map(({ instanceType }) => instanceType)).toEqual(['g5.xlarge']);
  expect(view.notes.join('\n')).toMatch(/placement scores unknown \(throttled\)/);
  expect(view.notes.join('\n')).toMatch(/x9\.large.*name other types/);
});
