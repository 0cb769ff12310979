/** What a dearer pool is expected to cost more, until a cheaper one is back. */
import { describe, expect, it } from 'vitest';
import {
  attempt,
  hoursLater,
  market,
  onDemand,
  poolOf,
  question,
  spot,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementInput } from '../../decision/situation.ts';

const [CHEAP, DEAR] = ZONES;
const HOURS = 40;

const oneNodeIn = (zoneIds: readonly string[]): PlacementInput['compute'] => ({
  ...question().compute,
  instanceTypes: ['g6.xlarge'],
  nodes: 1,
  vpc: {
    securityGroupIds: ['sg-1'],
    subnets: zoneIds.map((zoneId, k) => ({ id: `subnet-${k}`, zoneId })),
  },
});

/** One node of one type for 40 hours: cheap in one zone, twice as dear in the other. */
const requested = (cheapScore: number | undefined, change: Partial<PlacementInput> = {}): PlacementInput =>
  question({
    compute: oneNodeIn([CHEAP, DEAR]),
    limits: { ...question().limits, deadlineHours: 80 },
    market: market({
      scores: [
        ...(cheapScore === undefined ? [] : [{ zoneId: CHEAP, score: cheapScore }]),
        { zoneId: DEAR, score: 9 },
      ],
      spotPrices: [spot('g6.xlarge', CHEAP, 0.3), spot('g6.xlarge', DEAR, 0.6)],
      onDemandPrices: [onDemand('g6.xlarge', 1.125)],
    }),
    expectedSeconds: HOURS * 3_600,
    ...change,
  });

function costOf(zoneId: string, input: PlacementInput): number {
  const decision = choosePlacement(input);
  const rows = decision.kind === 'launch' ? decision.placement.considered : decision.considered;
  const row = rows.find(({ pool }) => pool.zoneId === zoneId && pool.purchaseOption === 'spot');
  if (row?.expectedCostUsd === undefined) throw new Error(`no cost for ${zoneId}`);
  return row.expectedCostUsd;
}

/** If all of the work were done in the dear zone, without a single loss. */
const ALL_THERE_USD = (0.6 - 0.3) * HOURS;

const lost = attempt(1, poolOf('g6.xlarge', CHEAP), {
  kind: 'interrupted',
  startedAt: hoursLater(0.1),
  endedAt: hoursLater(1),
});

describe('a dearer pool', () => {
  it('costs more only until the cheaper one returns', () => {
    const premium = (score: number) => costOf(DEAR, requested(score)) - costOf(CHEAP, requested(score));
    expect(premium(9)).toBeGreaterThan(0);
    expect(premium(9)).toBeLessThan(ALL_THERE_USD / 5);
  });

  it('costs more the surer the cheaper one is down', () => {
    const now = hoursLater(4);
    const costs = [9, 7, 5, 3, 1].map((score) => costOf(DEAR, requested(score, { attempts: [lost], now })));
    expect(costs).toEqual(costs.toSorted((a, b) => a - b));
    expect(costs.at(-1)).toBeGreaterThan((costs[0] ?? 0) + 0.1);
  });

  it('costs more for a whole spell without a score', () => {
    expect(costOf(DEAR, requested(undefined))).toBeGreaterThan(costOf(DEAR, requested(9)) + 0.1);
    expect(costOf(DEAR, requested(undefined))).toBeLessThan(
      costOf(CHEAP, requested(undefined)) + ALL_THERE_USD,
    );
  });
});

describe('a pool whose score says that it is there', () => {
  it('is tried although its neighbours were just lost', () => {
    const lostIn = (zoneId: string, [from, to]: readonly [number, number], number: number) =>
      attempt(number, poolOf('g6.xlarge', zoneId), {
        kind: 'interrupted',
        startedAt: hoursLater(from),
        endedAt: hoursLater(to),
      });
    const zoneId = 'use1-az4';
    const input = requested(1, {
      attempts: [lostIn(CHEAP, [0, 0.5], 1), lostIn(DEAR, [0.5, 1.5], 2), lostIn(CHEAP, [1.5, 2], 3)],
      now: hoursLater(2),
      compute: oneNodeIn([CHEAP, DEAR, zoneId]),
      market: market({
        scores: [
          { zoneId: CHEAP, score: 1 },
          { zoneId: DEAR, score: 1 },
          { zoneId, score: 7 },
        ],
        spotPrices: [
          spot('g6.xlarge', CHEAP, 0.3),
          spot('g6.xlarge', DEAR, 0.39),
          spot('g6.xlarge', zoneId, 0.4),
        ],
        onDemandPrices: [onDemand('g6.xlarge', 1.8)],
      }),
    });
    const decision = choosePlacement({ ...input, limits: { ...input.limits, deadlineHours: 60 } });
    expect(decision.kind === 'launch' && decision.placement.pool.zoneId).toBe(zoneId);
  });
});
