import { ec2OnDemandUsd } from '@tidewheel/catalog/catalog.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wallClock } from '../../../clock/clock.ts';
import { startMarketTime } from '../../../spot-market/model/market-time.ts';
import { listPrice, zonesOf, zonesOffering } from '../../../spot-market/model/offers.ts';
import { makePrices } from '../../../spot-market/model/prices.ts';
import { zoneScore } from '../../../spot-market/model/scores.ts';
import { planOf } from '../../../spot-market/scripts/market-script.ts';
import { seedPlan } from '../../../spot-market/scripts/seed.ts';

const HOUR = 3_600;
const calm = planOf({ kind: 'calm' });
const pool = { instanceType: 'g5.xlarge', zoneId: 'use1-az4' };
const time = startMarketTime({ ...wallClock, now: () => 0 });
const FAMILY = ['g5.xlarge', 'g6.xlarge', 'g4dn.xlarge'];

describe('Spot prices', () => {
  it('stay near the list while there is plenty', () => {
    const prices = makePrices(1, calm, time);
    const list = listPrice(pool)?.spotUsd ?? 0;
    for (let at = -90 * 24 * HOUR; at < 24 * HOUR; at += 7 * HOUR) {
      expect(Math.abs((prices.priceAt(pool, at) ?? 0) / list - 1)).toBeLessThan(0.081);
    }
  });

  it('never exceed On-Demand', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 0, max: 10_000_000 }),
        fc.nat({ max: 20 }),
        (seed, at, capacity) => {
          const prices = makePrices(seed, { capacityAt: () => capacity, nextChange: () => undefined }, time);
          for (const { zoneId } of zonesOffering('p4d.24xlarge', 'us-east-1')) {
            const price = prices.priceAt({ instanceType: 'p4d.24xlarge', zoneId }, at);
            expect(price).toBeLessThanOrEqual(ec2OnDemandUsd('p4d.24xlarge', 'us-east-1') ?? 0);
          }
        },
      ),
    );
  });

  it('have a history of the current prices', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: -100 * HOUR, max: 100 * HOUR }),
        fc.integer({ min: 0, max: 200 * HOUR }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (seed, from, length, share) => {
          const prices = makePrices(seed, seedPlan({ kind: 'seed', seed }), time);
          const points = prices.history(pool, from, from + length);
          const at = from + share * length;
          expect(points[0]?.at).toBeLessThanOrEqual(from);
          expect(points.filter((point) => point.at <= from)).toHaveLength(1);
          expect(points.findLast((point) => point.at <= at)?.usd).toBe(prices.priceAt(pool, at));
          const steps = points.slice(1).map((point, index) => point.usd - (points[index]?.usd ?? Number.NaN));
          expect(steps).not.toContain(0);
        },
      ),
    );
  });

  it('are unknown where the catalog has none', () => {
    const prices = makePrices(1, calm, time);
    expect(prices.priceAt({ instanceType: 'x9.huge', zoneId: 'use1-az4' }, 0)).toBeUndefined();
    expect(prices.history({ instanceType: 'x9.huge', zoneId: 'use1-az4' }, 0, HOUR)).toEqual([]);
    expect(prices.spotDiscount('x9.huge', 'use1-az4')).toBe(1);
    expect(prices.spotDiscount('g5.xlarge', 'use1-az4')).toBeLessThan(1);
  });
});

const score = (types: readonly string[], target: number, free: number): number =>
  zoneScore({ types, target }, 'use1-az4', 'us-east-1', () => free);

describe('placement scores', () => {
  it('lie between 1 and 10, and follow capacity', () => {
    const counts = fc.integer({ min: 0, max: 3_000 });
    fc.assert(
      fc.property(counts, counts, fc.integer({ min: 1, max: 500 }), (free, more, target) => {
        const here = score(FAMILY, target, free);
        expect(here).toBeGreaterThanOrEqual(1);
        expect(here).toBeLessThanOrEqual(10);
        expect(Number.isInteger(here)).toBe(true);
        expect(score(FAMILY, target, free + more)).toBeGreaterThanOrEqual(here);
        expect(score(FAMILY, target + more, free)).toBeLessThanOrEqual(here);
      }),
    );
  });

  it('are 1 without capacity and high with plenty', () => {
    expect(score(FAMILY, 2, 0)).toBe(1);
    expect(score(FAMILY, 2, 1_000)).toBeGreaterThanOrEqual(9);
  });

  it('are low for fewer than three types', () => {
    expect(score(FAMILY.slice(0, 2), 1, 1_000)).toBe(3);
    expect(score(['g5.xlarge', 'g5.xlarge', 'g5.xlarge'], 1, 1_000)).toBe(3);
  });
});

describe('the zones', () => {
  it('are named as the emulator names them', () => {
    expect(zonesOf('us-east-1').map(({ zoneId, zoneName }) => [zoneId, zoneName])).toEqual([
      ['use1-az1', 'us-east-1a'],
      ['use1-az2', 'us-east-1b'],
      ['use1-az3', 'us-east-1c'],
      ['use1-az4', 'us-east-1d'],
      ['use1-az5', 'us-east-1e'],
      ['use1-az6', 'us-east-1f'],
    ]);
  });

  it('offer what the catalog says', () => {
    expect(zonesOffering('p4de.24xlarge', 'us-east-1').map(({ zoneId }) => zoneId)).toEqual([
      'use1-az4',
      'use1-az6',
    ]);
    expect(zonesOffering('x9.huge', 'us-east-1')).toEqual(zonesOf('us-east-1'));
  });
});
