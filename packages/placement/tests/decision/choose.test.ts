import { describe, expect, it } from 'vitest';
import {
  attempt,
  CLOSED_AT,
  hoursLater,
  launched,
  market,
  onDemand,
  poolOf,
  progress,
  question,
  spot,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import type { Placement, Pool } from '../../records/placement-records.ts';

const place = (change: Partial<PlacementInput> = {}): Placement =>
  launched(choosePlacement(question(change)));
const base = question();

describe('with slack', () => {
  it('takes Spot where the price is lowest', () => {
    const cheap = market({
      spotPrices: ZONES.flatMap((zoneId) => [spot('g5.xlarge', zoneId, zoneId === 'use1-az2' ? 0.2 : 0.4)]),
    });
    expect(place({ market: cheap }).pool).toEqual(poolOf('g5.xlarge', 'use1-az2'));
  });

  it('takes the best score where prices are equal', () => {
    const scored = market({
      scores: ZONES.map((zoneId) => ({ zoneId, score: zoneId === 'use1-az4' ? 9 : 3 })),
    });
    expect(place({ market: scored }).pool.zoneId).toBe('use1-az4');
  });

  it('expects little waiting for capacity that is probably there', () => {
    const likely = market({ scores: ZONES.map((zoneId) => ({ zoneId, score: 9 })) });
    const { considered, spotUntil = '', decidedAt } = place({ market: likely, expectedSeconds: 300 });
    const [row] = considered;
    const { chanceNow = 0, expectedWaitSeconds = 0, expectedSeconds = 0 } = row ?? {};
    expect(chanceNow).toBeGreaterThan(0.8);
    expect(expectedWaitSeconds).toBeGreaterThan(8 * 3_600);
    // Until the last moment for Spot, in the cases in which it is down.
    const longest = (Date.parse(spotUntil) - Date.parse(decidedAt)) / 1_000;
    expect(expectedSeconds).toBeLessThan((1 - chanceNow) * longest + 2_000);
  });

  it('takes Spot for work of unknown length', () => {
    const { vpc: _vpc, ...compute } = base.compute;
    const prices = { 'g5.xlarge': [1.408, 0.567], 'g4dn.xlarge': [0.736, 0.261], 'g6.xlarge': [1.006, 0.5] };
    const quiet = market({
      scores: ZONES.map((zoneId) => ({ zoneId, score: 10 })),
      onDemandPrices: Object.entries(prices).map(([type, [usd = 0]]) => onDemand(type, usd)),
      spotPrices: Object.entries(prices).flatMap(([type, [, usd = 0]]) =>
        ZONES.map((zoneId) => spot(type, zoneId, usd)),
      ),
    });
    const first = place({
      compute: { ...compute, nodes: 1, instanceTypes: Object.keys(prices) },
      market: quiet,
      expectedSeconds: undefined,
      now: CLOSED_AT,
    });
    expect(first.reason).toMatch(/^nothing is known of the pace of this pipeline yet;/);
    expect(first.pool.purchaseOption).toBe('spot');
    for (const row of first.considered) {
      expect(row.expectedCostUsd ?? row.expectedSeconds).toBeUndefined();
      expect(row.verdict).not.toMatch(/to cost \$/);
    }
  });

  it('leaves lost capacity although other types seem slower', () => {
    const types = ['c5.2xlarge', 'm5.2xlarge', 'c5.4xlarge'];
    const usd = { 'c5.2xlarge': 0.4, 'm5.2xlarge': 0.46, 'c5.4xlarge': 0.82 };
    const { vpc: _vpc, ...compute } = base.compute;
    const lost = attempt(
      1,
      poolOf('c5.4xlarge', ''),
      { kind: 'recalled', trainingSeconds: 40 },
      {
        placement: {
          ...place(),
          pool: { instanceType: 'c5.4xlarge', launcher: 'sagemaker', purchaseOption: 'spot' },
          topology: { nodes: 1, acceleratorsPerNode: 0 },
        },
        progressAfter: { ...progress(1, 10), totalSteps: 0 },
      },
    );
    const next = place({
      compute: { ...compute, nodes: 1, instanceTypes: types },
      training: { ...base.training, strategy: 'single' },
      market: market({
        scores: ZONES.map((zoneId) => ({ zoneId, score: 10 })),
        onDemandPrices: Object.entries(usd).map(([type, price]) => onDemand(type, price)),
        spotPrices: Object.entries(usd).flatMap(([type, price]) =>
          ZONES.map((zoneId) => spot(type, zoneId, 0.4 * price)),
        ),
      }),
      expectedSeconds: undefined,
      attempts: [{ ...lost, createdAt: hoursLater(0.95) }],
      progress: { ...progress(1, 10), totalSteps: 0 },
    });
    expect(next.pool.instanceType).not.toBe('c5.4xlarge');
    expect(next.considered.map(({ verdict }) => verdict).join()).not.toMatch(/too slow|be late/);
  });

  it('names the single subnet of the chosen zone', () => {
    const chosen = place();
    expect(chosen.subnetId).toBe(`subnet-${chosen.pool.zoneId?.replaceAll('-', '')}`);
  });

  it('leaves the zone to SageMaker without a VPC', () => {
    const { vpc: _vpc, ...compute } = base.compute;
    const scored = market({ scores: ZONES.map((zoneId, k) => ({ zoneId, score: 3 + k })) });
    const chosen = place({ compute, market: scored });
    expect(chosen.pool.zoneId).toBeUndefined();
    expect(chosen.subnetId).toBeUndefined();
    expect(chosen.considered[0]?.score).toBe(5);
  });

  it('goes elsewhere after an interruption, and returns hours later', () => {
    // Of one type, which costs the same in every zone: nothing cheaper is waited for.
    const compute = { ...base.compute, instanceTypes: ['g6.xlarge'] };
    const first = place({ compute });
    const lost = attempt(1, first.pool, {
      kind: 'interrupted',
      startedAt: hoursLater(0.5),
      endedAt: hoursLater(1),
    });
    const second = place({ compute, attempts: [lost], now: hoursLater(1.01) });
    expect(second.pool).not.toEqual(first.pool);
    const lateLimits = { ...base.limits, deadlineHours: 400 };
    const later = place({ compute, attempts: [lost], now: hoursLater(300), limits: lateLimits });
    expect(later.pool).toEqual(first.pool);
  });

  describe('after a loss in a zone', () => {
    const cheapThere = market({
      spotPrices: ZONES.flatMap((zoneId) => [
        spot('g5.xlarge', zoneId, 0.4),
        spot('g6.xlarge', zoneId, zoneId === 'use1-az1' ? 0.35 : 0.36),
      ]),
    });
    const lostG5: Pool = poolOf('g5.xlarge', 'use1-az1');
    const lost = attempt(1, lostG5, {
      kind: 'interrupted',
      startedAt: hoursLater(0.5),
      endedAt: hoursLater(1),
    });

    it('leaves neighbour types there alone that are offered elsewhere', () => {
      expect(place({ market: cheapThere }).pool).toMatchObject({
        instanceType: 'g6.xlarge',
        zoneId: 'use1-az1',
      });
      const next = place({ market: cheapThere, attempts: [lost], now: hoursLater(1.01) }).pool;
      expect(next).toMatchObject({
        instanceType: 'g6.xlarge',
        launcher: 'sagemaker',
        purchaseOption: 'spot',
      });
      expect(next.zoneId).not.toBe('use1-az1');
    });

    it('asks a neighbour type that is offered only there', () => {
      const only = market({
        spotPrices: [
          ...ZONES.map((zoneId) => spot('g5.xlarge', zoneId, 1.2)),
          spot('g6.xlarge', 'use1-az1', 0.3),
        ],
      });
      const compute = { ...base.compute, purchaseOption: 'spot' as const };
      const next = place({ market: only, attempts: [lost], compute, now: hoursLater(1.01) }).pool;
      expect(next).toEqual(poolOf('g6.xlarge', 'use1-az1'));
    });

    it('returns once another type has had capacity there', () => {
      const g6: Pool = { ...lostG5, instanceType: 'g6.xlarge' };
      const kept = attempt(2, g6, {
        kind: 'recalled',
        startedAt: hoursLater(1.01),
        endedAt: hoursLater(1.2),
      });
      const next = place({ market: cheapThere, attempts: [lost, kept], now: hoursLater(1.21) }).pool;
      expect(next).toEqual(g6);
    });
  });

  it('takes On-Demand at once for seconds of work', () => {
    const gone = market({
      scores: ZONES.map((zoneId) => ({ zoneId, score: 1 })),
      spotPrices: ZONES.map((zoneId) => spot('g5.xlarge', zoneId, 0.35)),
    });
    const losses = ZONES.map((zoneId, k) =>
      attempt(k + 1, poolOf('g5.xlarge', zoneId), {
        kind: 'interrupted',
        startedAt: hoursLater(0.2),
        endedAt: hoursLater(0.3 + k / 100),
      }),
    );
    const compute = { ...base.compute, instanceTypes: ['g5.xlarge'] };
    const short = { compute, expectedSeconds: 40, market: gone, attempts: losses, now: hoursLater(0.95) };
    expect(place(short).pool.purchaseOption).toBe('on-demand');
    expect(place({ ...short, expectedSeconds: 20 * 3_600 * 0.9 }).pool.purchaseOption).toBe('spot');
  });

  it('does not ask a pool that is probably down', () => {
    const scored = (score: number) =>
      market({
        scores: ZONES.map((zoneId) => ({ zoneId, score: zoneId === 'use1-az2' ? score : 9 })),
        spotPrices: ZONES.map((zoneId) => spot('g5.xlarge', zoneId, zoneId === 'use1-az2' ? 0.398 : 0.4)),
      });
    const compute = { ...base.compute, instanceTypes: ['g5.xlarge'] };
    const short = { compute, expectedSeconds: 60 };
    expect(place({ ...short, market: scored(9) }).pool.zoneId).toBe('use1-az2');
    expect(place({ ...short, market: scored(1) }).pool.zoneId).not.toBe('use1-az2');
  });

  it('sets a maximum wait for Spot only', () => {
    const onSpot = place();
    expect(onSpot.maximumWaitSeconds).toBeGreaterThanOrEqual(onSpot.maximumRunSeconds);
    const dear = place({ compute: { ...base.compute, purchaseOption: 'on-demand' } });
    expect(dear.pool.purchaseOption).toBe('on-demand');
    expect(dear.maximumWaitSeconds).toBeUndefined();
  });

  it('waits when every pool is cooling down', () => {
    const pools: Pool[] = (base.compute.instanceTypes ?? []).flatMap((instanceType) =>
      ZONES.map((zoneId) => poolOf(instanceType, zoneId)),
    );
    const attempts = pools.map((pool, k) =>
      attempt(k + 1, pool, { kind: 'capacity', endedAt: hoursLater(1) }),
    );
    const compute = { ...base.compute, purchaseOption: 'spot' as const };
    const decision = choosePlacement(question({ compute, attempts, now: hoursLater(1) }));
    expect(decision).toMatchObject({ kind: 'wait', seconds: 60 });
    expect(decision.kind === 'wait' && decision.considered).toHaveLength(6);
  });
});

describe('without slack', () => {
  it('changes to On-Demand at the latest safe moment', () => {
    const unscored = market({ scores: [] });
    const six = 6 * 3_600;
    const restart = 300;
    const margin = 900;
    const latest = 24 - (six + 2 * restart + margin) / 3_600;
    expect(place({ now: hoursLater(latest - 0.01), market: unscored }).pool.purchaseOption).toBe('spot');
    expect(place({ now: hoursLater(latest + 0.01), market: unscored }).pool.purchaseOption).toBe('on-demand');
  });

  it('changes sooner where scores would show Spot again', () => {
    const gone = market({ scores: ZONES.map((zoneId) => ({ zoneId, score: 1 })) });
    const early = place({ now: hoursLater(16.5), market: gone });
    expect(early.pool.purchaseOption).toBe('on-demand');
    expect(early.reason).toMatch(/back to Spot when scores say that it is there, which saves \$\d/);
    expect(place({ now: hoursLater(16.5), market: market({ scores: [] }) }).pool.purchaseOption).toBe('spot');
  });

  it('counts the way back to Spot in each zone', () => {
    const gone = market({ scores: ZONES.map((zoneId) => ({ zoneId, score: 1 })) });
    const { considered } = place({ now: hoursLater(16.5), market: gone });
    const rows = considered.filter(({ pool }) => pool.purchaseOption === 'on-demand');
    expect(rows).toHaveLength(2 * ZONES.length);
    const costs = new Set(rows.map(({ pool, expectedCostUsd }) => `${pool.instanceType} ${expectedCostUsd}`));
    expect(costs.size).toBe(2);
  });

  it('keeps alternatives when On-Demand itself is refused', () => {
    // At the latest safe moment Spot is passed over with a quarter of an hour in hand, of which a refusal takes a part.
    const first = place({ now: hoursLater(17.7) });
    expect(first.pool.purchaseOption).toBe('on-demand');
    const refused = attempt(1, first.pool, { kind: 'capacity', endedAt: hoursLater(17.74) });
    const next = place({ now: hoursLater(17.75), attempts: [refused] });
    expect(next.pool.purchaseOption).toBe('on-demand');
    expect(next.pool).not.toEqual(first.pool);
    expect(next.reason).not.toMatch(/no longer be promised/);
  });

  it('continues on Spot where nothing else is allowed', () => {
    const chosen = place({ now: hoursLater(19), compute: { ...base.compute, purchaseOption: 'spot' } });
    expect(chosen.pool.purchaseOption).toBe('spot');
    expect(chosen.reason).toContain('can no longer be promised');
  });

  it('measures the work that is left by the checkpoint', () => {
    const done = attempt(1, poolOf('g5.xlarge', 'use1-az1'), {
      kind: 'interrupted',
      startedAt: hoursLater(1),
      endedAt: hoursLater(17),
      trainingSeconds: 57_600,
    });
    const nearlyDone = place({ now: hoursLater(20), attempts: [done], progress: progress(95, 57_000) });
    expect(nearlyDone.pool.purchaseOption).toBe('spot');
    const halfDone = choosePlacement(
      question({ now: hoursLater(20), attempts: [done], progress: progress(10, 57_000) }),
    );
    expect(halfDone).toMatchObject({ kind: 'giveUp' });
  });
});

describe('limits', () => {
  it('gives up after the last attempt', () => {
    const pool: Pool = poolOf('g5.xlarge', 'use1-az1');
    const attempts = [1, 2].map((n) => attempt(n, pool, { kind: 'interrupted', endedAt: hoursLater(1) }));
    const decision = choosePlacement(question({ attempts, limits: { ...base.limits, attempts: 2 } }));
    expect(decision).toMatchObject({ kind: 'giveUp', reason: expect.stringContaining('2 attempts') });
  });

  it('gives up when the budget cannot suffice, with sums', () => {
    const decision = choosePlacement(question({ limits: { ...base.limits, budgetUsd: 2 } }));
    expect(decision).toMatchObject({ kind: 'giveUp', reason: expect.stringContaining('$2.00') });
  });

  it('gives up when no slack is left within budget', () => {
    // Two nodes on demand for 6 h and a start are $13.68 at least; on Spot they were $6.
    const limits = { ...base.limits, budgetUsd: 11 };
    for (const hours of [17.7, 17.85, 17.92, 18.5])
      expect(
        choosePlacement(question({ now: hoursLater(hours), limits, market: market({ scores: [] }) })),
      ).toMatchObject({
        kind: 'giveUp',
        reason: expect.stringContaining('the budget of $11.00 does not last'),
      });
    expect(place({ now: hoursLater(10), limits, market: market({ scores: [] }) }).pool.purchaseOption).toBe(
      'spot',
    );
  });

  it('lets SageMaker stop an attempt at the budget', () => {
    const chosen = place({ limits: { ...base.limits, budgetUsd: 20 } });
    const hourly = chosen.considered[0]?.hourlyUsd ?? 0;
    expect((chosen.maximumRunSeconds / 3_600) * hourly * 2).toBeLessThanOrEqual(20);
    expect(chosen.maximumRunSeconds).toBeGreaterThan(3_600);
  });

  it('leaves out pools without a price, with the reason', () => {
    const compute = { ...base.compute, instanceTypes: ['g5.xlarge', 'g6e.xlarge', 'x9.large'] };
    const { considered } = place({ compute });
    const verdict = (type: string) => considered.find(({ pool }) => pool.instanceType === type)?.verdict;
    expect(verdict('g6e.xlarge')).toContain('no price of g6e.xlarge');
    expect(verdict('x9.large')).toContain('SageMaker does not train on x9.large');
    const none = choosePlacement(question({ compute: { ...compute, instanceTypes: ['x9.large'] } }));
    expect(none).toMatchObject({ kind: 'giveUp', reason: expect.stringContaining('no pool can be weighed') });
  });
});

it('gives every pool a row with a verdict', () => {
  const chosen = place({
    market: market({ scores: [], notes: ['placement scores unknown (throttled): later'] }),
  });
  expect(chosen.considered).toHaveLength(2 * 3 * 2);
  expect(chosen.considered.every(({ verdict }) => verdict.length > 0)).toBe(true);
  expect(chosen.considered[0]?.verdict).toContain('chosen');
  expect(chosen.reason).toContain('throttled');
  expect(chosen.decidedAt).toBe(hoursLater(1));
  expect(Date.parse(CLOSED_AT)).toBeLessThan(Date.parse(chosen.decidedAt));
});

describe('after the only Spot pool was lost', () => {
  const compute = { ...question().compute, vpc: undefined };
  const pool = { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot' } as const;
  const alone = (hour: number, kind: 'interrupted' | 'capacity') =>
    choosePlacement(
      question({
        compute: { ...compute, instanceTypes: ['g5.xlarge'] },
        now: hoursLater(hour),
        attempts: [attempt(1, pool, { kind, startedAt: hoursLater(0), endedAt: hoursLater(hour) })],
      }),
    );

  it('the run asks Spot again while there is slack', () => {
    const again = alone(1, 'interrupted');
    expect(again).toMatchObject({ kind: 'launch', placement: { pool } });
  });

  it('a refusal is waited out rather than paid for', () => {
    expect(alone(1, 'capacity')).toMatchObject({ kind: 'wait', seconds: 60 });
  });

  it('On-Demand is taken when no slack is left', () => {
    expect(alone(17.9, 'capacity')).toMatchObject({
      kind: 'launch',
      placement: { pool: { purchaseOption: 'on-demand' } },
    });
  });
});

describe('when every pool of the needed On-Demand refuses', () => {
  const pools = ['g5.xlarge', 'g6.xlarge'].flatMap((instanceType) =>
    ZONES.map((zoneId) => poolOf(instanceType, zoneId, 'on-demand')),
  );
  const refused = (times: number, change: { readonly quota?: true } = {}) =>
    choosePlacement(
      question({
        now: hoursLater(18),
        attempts: Array.from({ length: times }, (_, k) => 17.9 + k / 1_000).flatMap((hour) =>
          pools.map((pool, k) =>
            attempt(k, pool, { kind: 'capacity', endedAt: hoursLater(hour), ...change }),
          ),
        ),
      }),
    );

  it('is tried again at first, within the margin', () => {
    expect(refused(4)).toMatchObject({
      kind: 'wait',
      reason: expect.stringContaining('On-Demand is needed now and had a capacity error lately'),
    });
  });

  it('leaves the work to Spot when it persists', () => {
    for (const decision of [refused(5), refused(1, { quota: true })]) {
      expect(decision).toMatchObject({
        kind: 'launch',
        placement: {
          pool: { purchaseOption: 'spot' },
          reason: expect.stringContaining('On-Demand is needed now and had a capacity error'),
        },
      });
      // Or the first look at it would take it back.
      expect(decision.kind === 'launch' ? decision.placement : {}).not.toHaveProperty('spotUntil');
    }
  });
});
