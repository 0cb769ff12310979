import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CapacityPlan } from '../../../spot-market/model/capacity-plan.ts';
import type { CapacityLease } from '../../../spot-market/model/capacity-source.ts';
import { type Leases, makeLeases } from '../../../spot-market/model/leases.ts';
import { type MarketTime, startMarketTime } from '../../../spot-market/model/market-time.ts';
import { tracePlan } from '../../../spot-market/scripts/trace.ts';

const ZONES = ['use1-az1', 'use1-az2', 'use1-az4'];

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const noticed: string[] = [];
const reclaimed: string[] = [];
function leasesOf(plan: CapacityPlan, priceOf: (zoneId: string) => number = () => 1): Leases {
  noticed.length = 0;
  reclaimed.length = 0;
  return makeLeases({
    plan,
    time: startMarketTime(),
    zonesFor: () => ZONES,
    priceOf: ({ zoneId }) => priceOf(zoneId),
    graceSeconds: 120,
    log: () => undefined,
    notice: (line) => noticed.push(line),
    onReclaim: (owner) => reclaimed.push(owner),
  });
}

/** One tick a second. */
const byTrace = (zones: Record<string, number[]>): CapacityPlan =>
  tracePlan({
    kind: 'trace',
    zones: Object.fromEntries(
      Object.entries(zones).map(([zoneId, data]) => [zoneId, { metadata: { gap_seconds: 1 }, data }]),
    ),
  });

const gang = (owner: string, count: number, zoneIds?: readonly string[]) => ({
  owner,
  groups: [{ instanceType: 'c5.xlarge', count }],
  zoneIds,
  purchaseOption: 'spot' as const,
});

const seconds = (count: number): void => {
  vi.advanceTimersByTime(count * 1_000);
};

describe('acquire', () => {
  it('gives the deepest zone, then the cheapest', () => {
    const plan = byTrace({ 'use1-az1': [4], 'use1-az2': [8], 'use1-az4': [8] });
    const leases = leasesOf(plan, (zoneId) => (zoneId === 'use1-az4' ? 1 : 2));
    expect(leases.acquire(gang('a', 2))?.zoneId).toBe('use1-az4');
  });

  it('gives a gang all or nothing', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [3], 'use1-az2': [9] }));
    expect(leases.acquire(gang('a', 4, ['use1-az1']))).toBeUndefined();
    expect(leases.acquire(gang('b', 3, ['use1-az1']))?.zoneId).toBe('use1-az1');
    expect(leases.acquire(gang('c', 1, ['use1-az1']))).toBeUndefined();
  });

  it('says once why a job waits, and how long', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [0, 0, 0, 0, 4] }));
    for (const _ of [1, 2]) expect(leases.acquire(gang('a', 2, ['use1-az1']))).toBeUndefined();
    expect(noticed).toEqual([
      'a waits: no Spot capacity for 2 x c5.xlarge in use1-az1; the market changes in 4 s',
    ]);
    seconds(4);
    leases.acquire(gang('a', 2, ['use1-az1']));
    expect(leases.acquire(gang('a', 4, ['use1-az2']))).toBeUndefined();
    expect(noticed[1]).toMatch(/the market script brings none$/);
  });

  it('needs one zone for all groups', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [2] }));
    const groups = [
      { instanceType: 'g5.xlarge', count: 2 },
      { instanceType: 'c5.xlarge', count: 3 },
    ];
    expect(leases.acquire({ owner: 'a', groups, purchaseOption: 'spot' })).toBeUndefined();
    expect(leases.acquire({ owner: 'a', groups: groups.slice(0, 1), purchaseOption: 'spot' })).toBeDefined();
  });

  it('always gives On-Demand, and never takes it back', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [0, 0, 0] }));
    const lease = leases.acquire({ ...gang('a', 500, ['use1-az2']), purchaseOption: 'on-demand' });
    const listener = vi.fn<() => void>();
    lease?.onReclaim(listener);
    seconds(10);
    expect(lease?.zoneId).toBe('use1-az2');
    expect(listener).not.toHaveBeenCalled();
  });

  it('gives back what is released, once', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [2] }));
    const lease = leases.acquire(gang('a', 2));
    lease?.release();
    lease?.release();
    expect(leases.freeAt({ instanceType: 'c5.xlarge', zoneId: 'use1-az1' })).toBe(2);
  });
});

describe('a pool that loses capacity', () => {
  it('warns the newest lease, once, with the grace time', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [4, 4, 2, 2, 0] }));
    const reclaimed: string[] = [];
    for (const owner of ['old', 'new']) {
      leases
        .acquire(gang(owner, 2))
        ?.onReclaim(({ graceSeconds }) => reclaimed.push(`${owner} ${graceSeconds}`));
    }
    seconds(1);
    expect(reclaimed).toEqual([]);
    seconds(1);
    expect(reclaimed).toEqual(['new 120']);
    seconds(2);
    expect(reclaimed).toEqual(['new 120', 'old 120']);
  });

  it('warns a lease that began to listen only afterwards', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [4, 0] }));
    const lease = leases.acquire(gang('a', 2));
    seconds(1);
    const listener = vi.fn<() => void>();
    lease?.onReclaim(listener);
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('does not warn a lease that was released before', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [4, 0] }));
    const lease = leases.acquire(gang('a', 2));
    const listener = vi.fn<() => void>();
    lease?.onReclaim(listener);
    lease?.release();
    seconds(5);
    expect(listener).not.toHaveBeenCalled();
  });

  it('counts reclaimed capacity until it is released', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [2, 0, 2, 2, 2, 2] }));
    const lease = leases.acquire(gang('a', 2));
    seconds(2);
    expect(leases.acquire(gang('b', 1))).toBeUndefined();
    lease?.release();
    expect(leases.acquire(gang('b', 1))).toBeDefined();
  });
});

describe('a change that no timer meets exactly', () => {
  /** Moves only by hand, and wakes no caller by itself: real timers are early or late by a moment. */
  function byHand() {
    let now = 0;
    let due: { readonly moment: number; readonly action: () => void } | undefined;
    const time: MarketTime = {
      now: () => now,
      wallMs: (at) => at * 1_000,
      marketSecond: (wallMs) => wallMs / 1_000,
      at: (moment, action) => {
        const own = { moment, action };
        due = own;
        return () => {
          if (due === own) due = undefined;
        };
      },
    };
    const wake = (): number | undefined => {
      const woken = due;
      due = undefined;
      woken?.action();
      return woken?.moment;
    };
    return { time, wake, move: (to: number) => (now = to) };
  }

  const lostAt = (second: number, look: () => void = () => undefined): CapacityPlan => ({
    capacityAt: ({ zoneId }, at) => {
      const left = zoneId === 'use1-az1' && at >= second ? 0 : 4;
      look();
      return left;
    },
    nextChange: ({ zoneId }, at) => (zoneId === 'use1-az1' && at < second ? second : undefined),
  });

  const leasesBy = (plan: CapacityPlan, time: MarketTime): Leases =>
    makeLeases({
      plan,
      time,
      zonesFor: () => ZONES,
      priceOf: () => 1,
      graceSeconds: 120,
      log: () => undefined,
    });

  it('is acted on while an early timer looks', () => {
    const { time, wake, move } = byHand();
    let isLooking = false;
    const leases = leasesBy(
      lostAt(4, () => isLooking && move(4)),
      time,
    );
    const listener = vi.fn<() => void>();
    leases.acquire(gang('a', 1, ['use1-az1']))?.onReclaim(listener);
    move(3.999);
    isLooking = true;
    wake();
    expect(listener).not.toHaveBeenCalled();
    wake();
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('is acted on before a late timer wakes', () => {
    const { time, wake, move } = byHand();
    const leases = leasesBy(lostAt(4), time);
    const listener = vi.fn<() => void>();
    leases.acquire(gang('a', 1, ['use1-az1']))?.onReclaim(listener);
    move(4.001);
    leases.acquire(gang('b', 1, ['use1-az2']));
    wake();
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('is looked at once', () => {
    const { time, wake, move } = byHand();
    const leases = leasesBy(lostAt(4), time);
    leases.acquire(gang('a', 1, ['use1-az1']));
    move(5);
    expect([wake(), wake()]).toEqual([4, undefined]);
  });
});

describe('a waiting client', () => {
  it('is called when capacity comes, and gets it', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [0, 0, 2, 2] }));
    let lease: CapacityLease | undefined;
    const tryIt = () => {
      lease ??= leases.acquire(gang('a', 2));
    };
    tryIt();
    leases.onCapacity(tryIt);
    seconds(1);
    expect(lease).toBeUndefined();
    seconds(1);
    expect(lease?.zoneId).toBe('use1-az1');
  });

  it('is called when another lets go', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [2] }));
    const first = leases.acquire(gang('a', 2));
    const listener = vi.fn<() => void>();
    leases.onCapacity(listener);
    first?.release();
    expect(listener).toHaveBeenCalled();
  });

  it('hears nothing after it has unsubscribed', () => {
    const leases = leasesOf(byTrace({ 'use1-az1': [2] }));
    const gone = vi.fn<() => void>();
    const unsubscribe = leases.onCapacity(gone);
    leases.onCapacity(() => {
      throw new Error('a fault of this listener');
    });
    const stays = vi.fn<() => void>();
    leases.onCapacity(stays);
    unsubscribe();
    leases.acquire(gang('a', 2))?.release();
    expect(gone).not.toHaveBeenCalled();
    expect(stays).toHaveBeenCalled();
  });
});

it('leases never exceed capacity', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('acquire' as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constant('release' as const), index: fc.nat({ max: 9 }) }),
    fc.record({ kind: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 4 }) }),
  );
  const data = fc.array(fc.nat({ max: 8 }), { minLength: 2, maxLength: 12 });
  fc.assert(
    fc.property(data, fc.array(step, { maxLength: 30 }), (capacity, steps) => {
      vi.setSystemTime(0);
      const leases = leasesOf(byTrace({ 'use1-az1': capacity }));
      const standing = new Map<CapacityLease, number>();
      for (const each of steps) {
        if (each.kind === 'wait') seconds(each.seconds);
        if (each.kind === 'release') {
          const lease = [...standing.keys()][each.index];
          lease?.release();
          if (lease) standing.delete(lease);
        }
        if (each.kind !== 'acquire') continue;
        const lease = leases.acquire(gang('x', each.count));
        if (!lease) continue;
        standing.set(lease, each.count);
        lease.onReclaim(() => {
          standing.delete(lease);
          lease.release();
        });
      }
      const used = [...standing.values()].reduce((sum, count) => sum + count, 0);
      const now = capacity[Math.floor(Date.now() / 1_000) % capacity.length] ?? 0;
      expect(used).toBeLessThanOrEqual(now);
      expect(leases.freeAt({ instanceType: 'c5.xlarge', zoneId: 'use1-az1' })).toBe(now - used);
      leases.close();
    }),
  );
});

it("says which reclaims are the plan's own", () => {
  const leases = leasesOf(byTrace({ 'use1-az1': [4, 1], 'use1-az2': [4] }));
  leases.acquire(gang('planned', 2, ['use1-az1']));
  leases.acquire(gang('asked', 2, ['use1-az2']));
  seconds(1);
  leases.reclaimNow(leases.held(), true);
  expect(reclaimed).toEqual(['planned']);
});
