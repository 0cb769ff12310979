/** What refusals and limits of the account do to the choice, and for how long. */
import { trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import {
  attempt,
  hoursLater,
  launched,
  market,
  onDemand,
  poolOf,
  question,
  spot,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import type { Observation } from '../../belief/attempt-observations.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { metIn } from '../../decision/met.ts';
import type { PlacementInput } from '../../decision/situation.ts';

const [HERE, THERE] = ZONES;

const observation = (hour: number, change: Partial<Observation> = {}): Observation => ({
  atMilliseconds: Date.parse(hoursLater(hour)),
  instanceType: 'g5.xlarge',
  zoneId: HERE,
  launcher: 'sagemaker',
  purchaseOption: 'spot',
  seen: 'capacityError',
  ...change,
});
const limited = (hour: number, change: Partial<Observation> = {}) =>
  observation(hour, { quota: true, ...change });

const placed = (change: Partial<PlacementInput>) => launched(choosePlacement(question(change)));

describe('a quota of 0', () => {
  const compute = { ...question().compute, instanceTypes: ['g5.xlarge'] };
  const pools = ['spot', 'on-demand'] as const;
  const decided = (message: string, refused: readonly ('spot' | 'on-demand')[] = pools) => {
    const attempts = refused.map((purchaseOption, index) => {
      const pool = {
        instanceType: 'g5.xlarge',
        zoneId: HERE,
        launcher: 'sagemaker',
        purchaseOption,
      } as const;
      return attempt(index + 1, pool, { kind: 'capacity', quota: true, message, endedAt: hoursLater(1) });
    });
    return choosePlacement(question({ compute, attempts, now: hoursLater(1.01) }));
  };

  it.each([
    "The account-level service limit 'ml.g5.xlarge for training job usage' is 0 Instances",
    'You have requested more vCPU capacity than your current vCPU limit of 0 allows',
  ])('of every pool gives the run up: %s', (message) => {
    const decision = decided(message);
    expect(decision.kind).toBe('giveUp');
    expect(decision.kind === 'giveUp' && decision.reason).toContain(message);
  });

  it('of one pool leaves the others', () => {
    expect(decided('the limit is 0 Instances', ['spot']).kind).toBe('launch');
  });

  it('differs from one that is used up', () => {
    expect(decided('the limit is 20 Instances').kind).toBe('wait');
  });

  it('without a value is waited for, with the remedy', () => {
    const message = 'Max spot instance count exceeded (request its vCPUs: aws service-quotas …)';
    const decision = decided(message);
    expect(decision).toMatchObject({
      kind: 'wait',
      reason: expect.stringMatching(
        /^quotas of the account refuse every pool .*; retried in \d+ s/,
      ) as string,
    });
    expect(decision.kind === 'wait' && decision.reason).toContain(message);
    const { considered = [] } = decision.kind === 'wait' ? decision : {};
    expect(considered.map(({ verdict }) => verdict).join()).toContain('a quota of the account refused it');
  });
});

describe('a limit of the account', () => {
  const restAt = (hour: number, observations: readonly Observation[], zoneId: string = THERE) => {
    const pool = poolOf('g5.xlarge', zoneId);
    return metIn(observations, Date.parse(hoursLater(hour)))({ pool }).coolsSeconds;
  };

  it('holds in every zone until any zone has capacity', () => {
    expect(restAt(1.1, [limited(1)])).toBeCloseTo(900 - 360);
    expect(restAt(1.1, [limited(1), observation(1.05, { seen: 'up' })])).toBe(0);
    expect(restAt(1.3, [limited(1), observation(1.1, { seen: 'up' }), limited(1.2)])).toBeCloseTo(900 - 360);
  });

  it('never makes an expensive pool look cheaper', () => {
    const dear = market({
      scores: ZONES.map((zoneId) => ({ zoneId, score: 6 })),
      spotPrices: ZONES.flatMap((zoneId) => [
        spot('g5.xlarge', zoneId, 0.8),
        spot('g6.xlarge', zoneId, 0.36),
      ]),
    });
    const costOf = (observations: readonly Observation[]) =>
      placed({ market: dear, now: hoursLater(5), observations: observations }).considered.find(
        ({ pool }) => pool.instanceType === 'g5.xlarge' && pool.purchaseOption === 'spot',
      )?.expectedCostUsd ?? 0;
    const before = costOf([]);
    expect(costOf([limited(2)])).toBeCloseTo(before);
    expect(costOf([limited(4.9)])).toBeGreaterThan(before * 0.99);
  });

  it('of the fast On-Demand type leaves a slower one', () => {
    const compute = { ...question().compute, nodes: 1, instanceTypes: ['g4dn.xlarge', 'p3.8xlarge'] };
    const requested = {
      compute,
      // Later images have no code for the V100 of p3.
      training: trainingSchema.parse({ strategy: 'ddp', frameworkVersion: '2.8' }),
      market: market({
        spotPrices: ZONES.map((zoneId) => spot('g4dn.xlarge', zoneId, 0.2)),
        onDemandPrices: [onDemand('g4dn.xlarge', 0.7), onDemand('p3.8xlarge', 7)],
      }),
      expectedSeconds: 8 * 3_600,
      expectedOn: { instanceType: 'g4dn.xlarge', nodes: 1 },
      // The slower type ends in time if it starts within a few minutes.
      now: hoursLater(15.7),
    };
    const limit = limited(15.6, {
      instanceType: 'p3.8xlarge',
      launcher: 'sagemaker',
      purchaseOption: 'on-demand',
    });
    expect(placed(requested).pool.purchaseOption).toBe('spot');
    expect(placed({ ...requested, observations: [limit] }).pool).toMatchObject({
      instanceType: 'g4dn.xlarge',
      launcher: 'sagemaker',
      purchaseOption: 'on-demand',
    });
    // Too late for the slower one, so Spot continues the work while the fast one cools down.
    const late = {
      ...requested,
      now: hoursLater(17),
      observations: [{ ...limit, atMilliseconds: Date.parse(hoursLater(16.9)) }],
    };
    expect(placed(late).pool.purchaseOption).toBe('spot');
  });
});

describe('a refusal', () => {
  it('by a clock ahead of ours counts as now', () => {
    const compute = {
      ...question().compute,
      instanceTypes: ['g5.xlarge'],
      vpc: { securityGroupIds: ['sg-1'], subnets: [{ id: 'subnet-1', zoneId: HERE }] },
    };
    const ended = new Date(Date.parse(hoursLater(1)) + 2_000).toISOString();
    const refused = attempt(1, poolOf('g5.xlarge', HERE), { kind: 'capacity', endedAt: ended });
    const decision = choosePlacement(question({ compute, attempts: [refused], now: hoursLater(1) }));
    expect(decision).toMatchObject({ kind: 'wait', seconds: 60 });
  });

  it('of days ago no longer counts', () => {
    const compute = {
      ...question().compute,
      purchaseOption: 'on-demand' as const,
      instanceTypes: ['g6.xlarge'],
    };
    const limits = { ...question().limits, deadlineHours: 100 };
    const old = [0, 0.01, 0.02].map((hour) =>
      observation(hour, { instanceType: 'g6.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand' }),
    );
    const { considered } = placed({ compute, limits, now: hoursLater(72), observations: old });
    expect(considered.find(({ pool }) => pool.zoneId === HERE)).toMatchObject({
      expectedWaitSeconds: 0,
      expectedSeconds: 6 * 3_600 + 300,
    });
    expect(considered.map(({ verdict }) => verdict).join()).not.toContain('had a capacity error lately');
  });
});
