import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CapacityPlan, PLENTY } from '../../../spot-market/model/capacity-plan.ts';
import { runOf } from '../../../spot-market/model/run-name.ts';
import { demoPlan } from '../../../spot-market/scripts/demo.ts';
import { planOf } from '../../../spot-market/scripts/market-script.ts';
import { seedPlan } from '../../../spot-market/scripts/seed.ts';
import { tracePlan } from '../../../spot-market/scripts/trace.ts';

const pool = { instanceType: 'c5.xlarge', zoneId: 'use1-az1' };
const HOUR = 3_600;

const trace = (data: number[], gapSeconds = 300) => ({ metadata: { gap_seconds: gapSeconds }, data });
const arbitraryTrace = fc
  .array(fc.nat({ max: 16 }), { minLength: 1, maxLength: 40 })
  .map((data) => trace(data));

/** Every plan promises: between a moment and its next change the capacity is the same. */
function isSteady(plan: CapacityPlan, at: number, probes: readonly number[]): boolean {
  const length = (plan.nextChange(pool, at) ?? at + 10 * HOUR) - at;
  return probes.every(
    (share) => plan.capacityAt(pool, at + Math.floor(share * (length - 1))) === plan.capacityAt(pool, at),
  );
}

const moments = fc.nat({ max: 30 * 24 * HOUR });
const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 });

describe('a seeded market', () => {
  it('is the same for one seed, whatever order', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(moments, { minLength: 1, maxLength: 20 }), (seed, times) => {
        const forwards = seedPlan({ kind: 'seed', seed });
        const backwards = seedPlan({ kind: 'seed', seed });
        const requested = times.map((at) => forwards.capacityAt(pool, at));
        expect(times.toReversed().map((at) => backwards.capacityAt(pool, at))).toEqual(
          requested.toReversed(),
        );
      }),
    );
  });

  it('keeps its capacity until the change it names', () => {
    fc.assert(
      fc.property(fc.nat(), moments, shares, (seed, at, probes) => {
        const plan = seedPlan({ kind: 'seed', seed });
        expect(plan.nextChange(pool, at)).toBeGreaterThan(at);
        expect(isSteady(plan, at, probes)).toBe(true);
      }),
    );
  });

  it('changes between capacity and none at every change', () => {
    const plan = seedPlan({ kind: 'seed', seed: 5 });
    let at = 0;
    for (let change = 0; change < 50; change += 1) {
      const before = plan.capacityAt(pool, at);
      at = plan.nextChange(pool, at) ?? at;
      expect(plan.capacityAt(pool, at) > 0).toBe(before === 0);
    }
  });

  it('has capacity for the expected share of time', () => {
    const plan = seedPlan({ kind: 'seed', seed: 9 });
    const samples = Array.from({ length: 20_000 }, (_, index) => plan.capacityAt(pool, index * 900) > 0);
    const share = samples.filter(Boolean).length / samples.length;
    expect(share).toBeGreaterThan(0.7);
    expect(share).toBeLessThan(0.8);
  });

  it('moves families together and zones apart', () => {
    const plan = seedPlan({ kind: 'seed', seed: 3 });
    const times = Array.from({ length: 200 }, (_, index) => index * HOUR);
    const of = (instanceType: string, zoneId: string) =>
      times.map((at) => plan.capacityAt({ instanceType, zoneId }, at));
    expect(of('c5.xlarge', 'use1-az1')).toEqual(of('c5.4xlarge', 'use1-az1'));
    expect(of('c5.xlarge', 'use1-az1')).not.toEqual(of('c5.xlarge', 'use1-az2'));
  });
});

describe('a market by a trace', () => {
  it('follows its ticks, and repeats them', () => {
    const plan = tracePlan({ kind: 'trace', zones: { 'use1-az1': trace([4, 0, 2]) } });
    const seen = [0, 299, 300, 600, 899, 900, 1_200].map((at) => plan.capacityAt(pool, at));
    expect(seen).toEqual([4, 4, 0, 2, 2, 4, 0]);
  });

  it('keeps its capacity until the change it names', () => {
    fc.assert(
      fc.property(arbitraryTrace, moments, shares, (one, at, probes) => {
        const plan = tracePlan({ kind: 'trace', zones: { 'use1-az1': one } });
        const next = plan.nextChange(pool, at);
        const isReal = next === undefined || plan.capacityAt(pool, next) !== plan.capacityAt(pool, at);
        expect(isReal).toBe(true);
        expect(isSteady(plan, at, probes)).toBe(true);
      }),
    );
  });

  it('has nothing, ever, in a zone without a trace', () => {
    const plan = tracePlan({ kind: 'trace', zones: { 'use1-az2': trace([4]) } });
    expect(plan.capacityAt(pool, 10)).toBe(0);
    expect(plan.nextChange(pool, 10)).toBeUndefined();
  });
});

const gang = (owner: string, zoneId = 'use1-az1') => ({ owner, zoneId });
/** Whether one of a gang's first checkpoints, which come at once, brings its reclaim. */
const isStruck = (plan: CapacityPlan, of: ReturnType<typeof gang>, at: number): boolean =>
  [1, 2].some(() => plan.checkpointSynced?.(of, at));

describe('the demo', () => {
  it('reclaims the zone after one of the first checkpoints', () => {
    const plan = demoPlan({ kind: 'demo', downSeconds: 100 });
    expect(isStruck(plan, gang('digits-000001-a1-abcdef'), 3)).toBe(true);
    expect([3.1, 3.9, 103, 104].map((at) => plan.capacityAt(pool, at))).toEqual([PLENTY, 0, 0, PLENTY]);
    expect(plan.capacityAt({ ...pool, zoneId: 'use1-az2' }, 50)).toBe(PLENTY);
    const begins = plan.nextChange(pool, 3) ?? 0;
    expect(plan.nextChange(pool, begins)).toBeCloseTo(begins + 100);
    expect(plan.nextChange(pool, begins + 100)).toBeUndefined();
  });

  it('takes nothing from other runs in the zone', () => {
    const plan = demoPlan({ kind: 'demo', downSeconds: 100 });
    const [own, other] = [gang('digits-000001-a1-abcdef'), gang('cats-000001-a1-abcdef')];
    isStruck(plan, own, 1);
    expect([own, other].map((held) => plan.spares?.(held, 50))).toEqual([false, true]);
    expect(isStruck(plan, other, 50)).toBe(true);
    expect(plan.spares?.(other, 60)).toBe(false);
  });

  it('never leaves the market without a zone', () => {
    const plan = demoPlan({ kind: 'demo' });
    const zones = ['use1-az1', 'use1-az2', 'use1-az3'];
    const open = (at: number) =>
      zones.filter((zoneId) => plan.capacityAt({ ...pool, zoneId }, at) > 0).length;
    for (let run = 0; run < 20; run += 1) {
      const zoneId = zones[run % zones.length] ?? '';
      expect(isStruck(plan, gang(`run-${run}-a1-abcdef`, zoneId), run * 3)).toBe(true);
      expect([0.5, 1, 2].map((late) => open(run * 3 + late))).not.toContain(0);
    }
    expect(open(20 * 3 + 120)).toBe(zones.length);
  });

  it('interrupts each run once', () => {
    const plan = demoPlan({ kind: 'demo' });
    isStruck(plan, gang('digits-000001-a1-abcdef'), 1);
    plan.reclaimed?.(gang('digits-000001-a1-abcdef'));
    expect(isStruck(plan, gang('digits-000001-a2-abcdef', 'use1-az2'), 10)).toBe(false);
    expect(isStruck(plan, gang('digits-000002-a1-abcdef', 'use1-az2'), 40)).toBe(true);
  });

  it('draws the checkpoint by seed and run', () => {
    fc.assert(
      fc.property(fc.nat(), fc.stringMatching(/^[a-z]{1,10}$/), (seed, run) => {
        const [first, again] = [1, 2].map(() =>
          demoPlan({ kind: 'demo', seed }).checkpointSynced?.(gang(run), 1),
        );
        expect(first).toBe(again);
      }),
    );
  });

  it('knows the attempts of one run by their names', () => {
    expect(runOf('digits-000001-a12-abcdef')).toBe('digits-000001');
    expect(runOf('something else')).toBe('something else');
  });
});

it('every kind of script has a plan', () => {
  const scripts = [
    { kind: 'calm' },
    { kind: 'seed', seed: 1 },
    { kind: 'trace', zones: { 'use1-az1': trace([PLENTY]) } },
    { kind: 'demo' },
  ] as const;
  expect(scripts.map((script) => planOf(script).capacityAt(pool, -1))).toEqual([
    PLENTY,
    PLENTY,
    PLENTY,
    PLENTY,
  ]);
});
