/** `limits.attempts`: the last of them are kept for On-Demand, and half of them for losses. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evenly } from '../../../../test/support/builders/evenly.ts';
import { attempt, hoursLater, question, ZONES } from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import type { Pool } from '../../records/placement-records.ts';

const inZone = (zoneId: string, market: Pool['purchaseOption'] = 'spot'): Pool => ({
  instanceType: 'g6.xlarge',
  zoneId,
  launcher: 'sagemaker',
  purchaseOption: market,
});

/** So many attempts were lost, one an hour, and it is now an hour after the last. */
const after = (lost: number, attempts: number, change: Partial<PlacementInput> = {}): PlacementInput =>
  question({
    limits: { ...question().limits, deadlineHours: 100, attempts },
    attempts: Array.from({ length: lost }, (_, k) =>
      attempt(k + 1, inZone(ZONES[k % ZONES.length] ?? ''), {
        kind: 'interrupted',
        startedAt: hoursLater(k + 0.2),
        endedAt: hoursLater(k + 0.8),
      }),
    ),
    now: hoursLater(lost + 1),
    ...change,
  });

function marketOf(input: PlacementInput): string {
  const decision = choosePlacement(input);
  return decision.kind === 'launch' ? decision.placement.pool.purchaseOption : decision.kind;
}

describe('of the attempts', () => {
  it.each([
    [1, 0, 'spot'],
    [2, 0, 'spot'],
    [2, 1, 'on-demand'],
    [3, 1, 'spot'],
    [3, 2, 'on-demand'],
    [10, 7, 'spot'],
    [10, 8, 'on-demand'],
    [10, 9, 'on-demand'],
    [10, 10, 'giveUp'],
  ])('%d in all, %d used: next %s', (attempts, used, expected) => {
    expect(marketOf(after(used, attempts))).toBe(expected);
  });

  it('the table says why Spot is left out', () => {
    const decision = choosePlacement(after(8, 10));
    const rows = decision.kind === 'launch' ? decision.placement.considered : [];
    const spot = rows.filter(({ pool }) => pool.purchaseOption === 'spot');
    expect(spot.length).toBeGreaterThan(0);
    for (const { verdict } of spot)
      expect(verdict).toMatch(/^the attempts that are left are kept for On-Demand/);
  });

  it('none is reserved where the pipeline allows no On-Demand', () => {
    const { compute, market } = question();
    expect(marketOf(after(9, 10, { compute: { ...compute, purchaseOption: 'spot' } }))).toBe('spot');
    expect(marketOf(after(9, 10, { market: { ...market, onDemandPrices: [] } }))).not.toBe('on-demand');
  });

  it('none goes to Spot while waiting for On-Demand', () => {
    const oneZone = { securityGroupIds: ['sg-1'], subnets: [{ id: 'subnet-1', zoneId: ZONES[0] }] };
    const refused = (quota?: true) => {
      const refusals = Array.from({ length: 5 }, (_, k) =>
        attempt(9 + k, inZone(ZONES[0], 'on-demand'), {
          kind: 'capacity',
          endedAt: hoursLater(9),
          ...(quota ? { quota } : {}),
        }),
      );
      const input = after(8, 14, { now: hoursLater(9.01) });
      const compute = { ...input.compute, instanceTypes: ['g6.xlarge'], vpc: oneZone };
      return marketOf({ ...input, compute, attempts: [...input.attempts, ...refusals] });
    };
    expect(refused()).toBe('wait');
    expect(refused(true)).toBe('spot');
  });
});

it('the last is never spent on Spot beside On-Demand', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 12 }),
      fc.integer({ min: 1, max: 10 }),
      evenly(8, 200),
      (attempts, score, deadlineHours) => {
        const view = question().market;
        const input = after(attempts - 1, attempts, {
          market: { ...view, scores: view.scores.map((each) => ({ ...each, score })) },
        });
        const limits = { ...input.limits, deadlineHours: attempts + deadlineHours };
        expect(marketOf({ ...input, limits })).toBe('on-demand');
      },
    ),
    { numRuns: 40 },
  );
});
