/** Regions in the choice: what moving costs, where nothing can be launched, and what a what-if makes of them. */
import { transferUsdPerGigabyte } from '@tidewheel/catalog/prices.ts';
import { describe, expect, it } from 'vitest';
import {
  attempt,
  hoursLater,
  market,
  onDemand,
  question,
  spot,
} from '../../../../test/support/builders/placement.ts';
import { transferOf } from '../../candidates/pool-costs.ts';
import type { RegionView } from '../../candidates/pools.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { completeMarket, decideIf } from '../../explain/what-if.ts';
import { questionKey } from '../../market/ask-scores.ts';
import type { MarketSample } from '../../records/market-history.ts';
import type { PlacementDecision } from '../../records/placement-records.ts';

const WEST = 'us-west-2';
const zoneId = 'usw2-az1';
const vpc = { securityGroupIds: ['sg-2'], subnets: [{ id: 'subnet-west', zoneId }] };

/** Half the price of home, which is not always worth the way. */
const west = (change: Partial<RegionView> = {}): RegionView => ({
  market: market({
    region: WEST,
    scores: [{ zoneId, score: 6 }],
    spotPrices: [spot('g5.xlarge', zoneId, 0.2)],
    onDemandPrices: [onDemand('g5.xlarge', 1)],
  }),
  vpc,
  transfer: { gigabytes: 10, usd: 0.2, seconds: 60, priceNote: 'test price' },
  ...change,
});
const base = question();
const compute = {
  ...base.compute,
  instanceTypes: ['g5.xlarge'],
  regions: [{ name: 'us-east-1' }, { name: WEST, vpc }],
};
const requested = (view: RegionView) => question({ compute, elsewhere: [view] });
const rows = (decision: PlacementDecision) =>
  decision.kind === 'launch' ? decision.placement.considered : decision.considered;
const poolOf = (decision: PlacementDecision) =>
  decision.kind === 'launch' ? decision.placement.pool : decision.kind;
const spotAt = (zone: string) =>
  ({ instanceType: 'g5.xlarge', zoneId: zone, launcher: 'sagemaker', purchaseOption: 'spot' }) as const;
const inWest = (decision: PlacementDecision) => rows(decision).filter(({ pool }) => pool.region === WEST);

describe('another region', () => {
  it('is chosen where it is cheaper including the transfer', () => {
    const decision = choosePlacement(requested(west()));
    expect(decision).toMatchObject({
      kind: 'launch',
      placement: {
        pool: { region: WEST, zoneId, purchaseOption: 'spot' },
        subnetId: 'subnet-west',
        transfer: { usd: 0.2 },
        reason: expect.stringContaining('10.0 GB are copied to us-west-2'),
      },
    });
  });

  it('costs as much as an equal region', () => {
    const ohio = 'us-east-2';
    const { market: itsMarket } = west();
    const there = west({ market: { ...itsMarket, region: ohio } });
    const regions = [...compute.regions, { name: ohio, vpc }];
    const both = question({ compute: { ...compute, regions }, elsewhere: [west(), there] });
    const costs = rows(choosePlacement(both)).flatMap(({ pool, expectedCostUsd }) =>
      pool.region !== undefined && pool.purchaseOption === 'on-demand'
        ? [[pool.region, expectedCostUsd]]
        : [],
    );
    expect(costs.map(([name]) => name)).toEqual([WEST, ohio]);
    expect(costs[0]?.[1]).toBe(costs[1]?.[1]);
  });

  it('loses by the cost of its transfer', () => {
    const far = west({ transfer: { gigabytes: 5_000, usd: 100, seconds: 20_000, priceNote: 'test price' } });
    const decision = choosePlacement(requested(far));
    expect(poolOf(decision)).not.toHaveProperty('region');
    expect(inWest(decision)[0]?.verdict).toContain('$100.00 of it for moving 5000.0 GB');
  });

  it('is too late where its copies miss the deadline', () => {
    const slow = west({ transfer: { gigabytes: 1, usd: 0, seconds: 18 * 3_600, priceNote: 'test price' } });
    const decision = choosePlacement(requested(slow));
    expect(poolOf(decision)).not.toHaveProperty('region');
    expect(
      inWest(decision)
        .map(({ verdict }) => verdict)
        .join(),
    ).toMatch(/too slow to leave time|would probably be late/);
  });

  it('is shown where nothing can be launched', () => {
    const decision = choosePlacement(requested(west({ closed: 'the bucket data-us-west-2 is not there' })));
    expect(poolOf(decision)).not.toHaveProperty('region');
    expect(inWest(decision)[0]).toMatchObject({
      verdict: expect.stringContaining('data-us-west-2 is not there'),
      expectedCostUsd: expect.any(Number),
    });
    expect(inWest(decision)[0]?.expectedCostUsd).toBeGreaterThan(0);
    // Cheaper than all others, it takes no usable pool's place in a table of so many rows.
    expect(rows(decision).map(({ pool }) => pool.region === WEST)).toEqual(
      rows(decision).map((_, row, all) => row >= all.length - inWest(decision).length),
    );
  });

  it('is the only one when declared so', () => {
    const pinned = { ...compute, regions: [{ name: WEST, vpc }] };
    const decision = choosePlacement({
      ...requested(west({ transfer: { gigabytes: 1, usd: 50, seconds: 9, priceNote: 'test price' } })),
      compute: pinned,
    });
    expect(poolOf(decision)).toMatchObject({ region: WEST });
    expect(rows(decision).find(({ pool }) => pool.region === undefined)?.verdict).toContain(
      'compute.regions does not name us-east-1',
    );
  });
});

describe('what moves', () => {
  const moving = (attempts: Parameters<typeof transferOf>[0]['attempts']) =>
    transferOf({ home: 'us-east-1', region: WEST, datasetBytes: 100e9, checkpointBytes: 2e9, attempts });
  const there = (number: number, region?: string) =>
    attempt(
      number,
      { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot', region },
      { kind: 'interrupted' },
    );

  it('is shards and checkpoint first, later the checkpoint alone', () => {
    expect(moving([]).usd).toBeCloseTo(104 * 0.02, 9);
    expect(moving([there(1, WEST), there(2)]).usd).toBeCloseTo(4 * 0.02, 9);
    expect(moving([there(1, WEST)]).usd).toBeCloseTo(2 * 0.02, 9);
    expect(moving([]).seconds).toBeGreaterThan(400);
  });

  it('has a price between all regions', () => {
    expect(transferUsdPerGigabyte('us-east-1', 'us-east-2')).toBe(0.01);
    expect(transferUsdPerGigabyte('us-east-1', 'us-east-1')).toBe(0);
    expect(transferUsdPerGigabyte('mars-1', 'us-east-1')).toBeGreaterThan(
      transferUsdPerGigabyte('ap-northeast-1', 'us-east-1'),
    );
  });
});

it('is ignored where nothing can be launched', () => {
  const refused = [spotAt('use1-az1'), { ...spotAt('use1-az1'), purchaseOption: 'on-demand' as const }].map(
    (pool, k) => attempt(k + 1, pool, { kind: 'capacity', endedAt: hoursLater(1) }),
  );
  const decision = choosePlacement(
    question({
      compute: {
        ...compute,
        vpc: { securityGroupIds: ['sg-1'], subnets: [{ id: 'subnet-1', zoneId: 'use1-az1' }] },
      },
      elsewhere: [west({ closed: 'there is no bucket' })],
      attempts: refused,
      now: hoursLater(1.001),
    }),
  );
  expect(decision).toMatchObject({
    kind: 'wait',
    reason: expect.stringContaining('every pool that may be used had a capacity error lately'),
  });
});

describe('a what-if', () => {
  const sample: MarketSample = {
    family: 'g6e',
    zoneId,
    at: hoursLater(0.75),
    readAt: hoursLater(0.75),
    scores: {},
    spotUsd: { 'g6e.xlarge': 0.11 },
    onDemandUsd: { 'g6e.xlarge': 0.9 },
  };
  const marketSamples = (samples: readonly MarketSample[]) => ({
    list: (family: string, zone: string) =>
      Promise.resolve(samples.filter((each) => each.family === family && each.zoneId === zone)),
  });
  const ask = async (change: Parameters<typeof completeMarket>[1], samples: readonly MarketSample[] = []) => {
    const { input, notes } = await completeMarket(base, change, {
      marketSamples: marketSamples(samples),
      datasetBytes: 50e9,
    });
    return { decision: decideIf(input, change, 'seed'), notes };
  };

  it('takes unknown pools from the history of that time', async () => {
    const change = {
      regions: ['us-east-1', WEST],
      zoneIds: [zoneId, 'use1-az1'],
      instanceTypes: ['g6e.xlarge'],
    };
    const { decision, notes } = await ask(change, [
      sample,
      { ...sample, at: hoursLater(2), spotUsd: { 'g6e.xlarge': 9 } },
    ]);
    expect(poolOf(decision)).toMatchObject({ region: WEST, zoneId, instanceType: 'g6e.xlarge' });
    expect(notes).toContain(`the Spot price of g6e.xlarge in ${zoneId} is the history's of ${sample.at}`);
    expect(notes.join()).toContain('snapshot');
    expect(inWest(decision)[0]?.transfer).toMatchObject({ gigabytes: 50 });
  });

  it('takes scores up to a day old', async () => {
    const types = ['g6e.xlarge', 'g5.xlarge', 'g6.xlarge'];
    const change = { regions: [WEST], zoneIds: [zoneId], instanceTypes: types };
    const scored = (hours: number): MarketSample => ({
      ...sample,
      at: hoursLater(hours),
      readAt: hoursLater(hours),
      scores: { [questionKey(types, 2)]: 9 },
    });
    const scoresWith = async (samples: readonly MarketSample[]) => {
      const { input } = await completeMarket(base, change, {
        marketSamples: marketSamples(samples),
      });
      return input.elsewhere?.[0]?.market.scores;
    };
    expect(await scoresWith([scored(0.5)])).toEqual([{ zoneId, score: 9, nodes: 2, ageSeconds: 1_800 }]);
    expect(await scoresWith([scored(-23.5)])).toEqual([]);
  });

  it('reports unknown values as unknown', async () => {
    const { decision, notes } = await ask({ instanceTypes: ['g5.xlarge', 'x9.large'] });
    expect(notes).toContain('no On-Demand price of x9.large in us-east-1 is known: it is left out');
    expect(poolOf(decision)).toMatchObject({ instanceType: 'g5.xlarge' });
  });

  it('names unknown zones and regions, and lists the known', async () => {
    const { notes } = await ask({
      zoneIds: ['use1-az1', 'nowhere-az9'],
      regions: ['us-east-1', 'mars-north-1'],
    });
    const named = await ask({ regions: ['constructor', '__proto__'], instanceTypes: ['constructor'] });
    expect(named.notes).toContain(
      'no zone of constructor is known: see that the region is written as AWS does',
    );
    expect(notes).toContain('no zone of mars-north-1 is known: see that the region is written as AWS does');
    expect(notes.find((note) => note.startsWith('nowhere-az9'))).toMatch(
      /^nowhere-az9 is no known zone of us-east-1 or mars-north-1: .*use1-az1.* are$/,
    );
    expect(notes.filter((note) => note.startsWith('use1-az1 is no'))).toEqual([]);
  });

  it('changes only the requested fields', async () => {
    const { decision, notes } = await ask({ deadlineHours: base.limits.deadlineHours });
    expect(notes).toEqual([]);
    expect(rows(decision)).toEqual(rows(choosePlacement(base)));
  });
});
