import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AttemptRecord } from '../../../../functions/records/run-records.ts';
import { evenly } from '../../../../test/support/builders/evenly.ts';
import {
  attempt,
  hoursLater,
  market,
  onDemand,
  question,
  spot,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import type { PlacementDecision } from '../../records/placement-records.ts';

const TYPES = ['g5.xlarge', 'g6.xlarge'] as const;
const RESTART_SECONDS = 300;

interface Draw {
  readonly scores: readonly number[];
  readonly shares: readonly number[];
  readonly prices: readonly number[];
  readonly nowHours: number;
  readonly workHours: number;
  readonly losses: readonly { readonly pool: number; readonly hoursAgo: number; readonly refused: boolean }[];
}

const draws: fc.Arbitrary<Draw> = fc.record({
  scores: fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 3, maxLength: 3 }),
  shares: fc.array(evenly(0.1, 1), { minLength: 6, maxLength: 6 }),
  prices: fc.array(evenly(0.5, 5), { minLength: 2, maxLength: 2 }),
  nowHours: evenly(0, 23.9),
  workHours: evenly(0.1, 20),
  losses: fc.array(
    fc.record({
      pool: fc.integer({ min: 0, max: 5 }),
      hoursAgo: evenly(0.01, 20),
      refused: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
});

function inputOf({ scores, shares, prices, nowHours, workHours, losses }: Draw): PlacementInput {
  const attempts: AttemptRecord[] = losses
    .toSorted((a, b) => b.hoursAgo - a.hoursAgo)
    .map(({ pool, hoursAgo, refused }, k) =>
      attempt(
        k + 1,
        {
          instanceType: TYPES[pool % 2] ?? TYPES[0],
          zoneId: ZONES[Math.floor(pool / 2)],
          launcher: 'sagemaker',
          purchaseOption: 'spot',
        },
        refused
          ? { kind: 'capacity', endedAt: hoursLater(nowHours - hoursAgo) }
          : {
              kind: 'interrupted',
              startedAt: hoursLater(nowHours - hoursAgo - 1),
              endedAt: hoursLater(nowHours - hoursAgo),
            },
      ),
    );
  return question({
    now: hoursLater(nowHours),
    expectedSeconds: workHours * 3_600,
    attempts,
    market: market({
      scores: ZONES.map((zoneId, k) => ({ zoneId, score: scores[k] ?? 5 })),
      onDemandPrices: TYPES.map((type, k) => onDemand(type, prices[k] ?? 1)),
      spotPrices: TYPES.flatMap((type, t) =>
        ZONES.map((zoneId, z) => spot(type, zoneId, ((prices[t] ?? 1) / 1.25) * (shares[t * 3 + z] ?? 0.5))),
      ),
    }),
  });
}

/** Of the pool that was chosen; what giving up or waiting costs is not compared. */
const expectedUsd = (decision: PlacementDecision): number | undefined =>
  decision.kind === 'launch' ? decision.placement.considered[0]?.expectedCostUsd : undefined;

it('starts On-Demand while it still ends in time', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(draws, (draw) => {
      const decision = choosePlacement(inputOf(draw));
      const slackSeconds = (24 - draw.nowHours - draw.workHours) * 3_600 - RESTART_SECONDS;
      if (decision.kind !== 'launch' || decision.placement.pool.purchaseOption !== 'spot') return;
      // A Spot attempt that brings nothing and costs a whole restart must leave On-Demand its time.
      expect(slackSeconds).toBeGreaterThanOrEqual(RESTART_SECONDS);
    }),
    { numRuns: 200 },
  );
});

it('decides the same for the same question', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(draws, (draw) => {
      expect(choosePlacement(inputOf(draw))).toEqual(choosePlacement(inputOf(draw)));
    }),
    { numRuns: 40 },
  );
});

it('breaks no constraint of the pipeline', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(draws, fc.constantFrom('spot', 'on-demand', 'spot-then-on-demand' as const), (draw, kind) => {
      const input = inputOf(draw);
      const decision = choosePlacement({ ...input, compute: { ...input.compute, purchaseOption: kind } });
      if (decision.kind !== 'launch') return;
      const { pool, subnetId, maximumRunSeconds, maximumWaitSeconds, considered } = decision.placement;
      for (const row of considered) expect(row.expectedCostUsd).toBeGreaterThanOrEqual(0);
      expect(TYPES).toContain(pool.instanceType);
      expect(input.compute.vpc?.subnets.find(({ id }) => id === subnetId)?.zoneId).toBe(pool.zoneId);
      expect(kind === 'spot-then-on-demand' || pool.purchaseOption === kind).toBe(true);
      expect(maximumRunSeconds).toBeLessThanOrEqual(input.limits.maximumRunSeconds);
      expect(pool.purchaseOption === 'spot').toBe(maximumWaitSeconds !== undefined);
      expect(maximumWaitSeconds ?? maximumRunSeconds).toBeGreaterThanOrEqual(maximumRunSeconds);
    }),
    { numRuns: 150 },
  );
});

/** Rounding of the plan's grid. */
const GRID = 1.02;

it('expects no more to pay when a price falls', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(draws, evenly(0.5, 1), (draw, factor) => {
      const before = expectedUsd(choosePlacement(inputOf(draw)));
      const after = expectedUsd(
        choosePlacement(inputOf({ ...draw, shares: draw.shares.map((s) => s * factor) })),
      );
      if (before === undefined || after === undefined) return;
      expect(after).toBeLessThanOrEqual(before * GRID);
    }),
    { numRuns: 120 },
  );
});

/** With a moment more a second, slower type may be fallen back on, which itself leaves no time to come back to Spot. */
const SECOND_FALLBACK: Draw = {
  scores: [1, 1, 1],
  shares: [0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
  prices: [0.745244, 0.5],
  nowHours: 4.5170575141906735,
  workHours: 12.337983036041258,
  losses: [],
};

/** With capacity one fallback is the better, without it the other: which of them is "the" fallback must not matter. */
const TWO_FALLBACKS: Draw = {
  ...SECOND_FALLBACK,
  scores: [7, 1, 1],
  prices: [4.850791931152344, 2.4283623695373535],
  nowHours: 1.60796480178833,
  workHours: 13.766636848449705,
};

it('expects no more to pay with more slack', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(draws, evenly(0, 10), (draw, hours) => {
      const input = inputOf({ ...draw, losses: [] });
      const before = expectedUsd(choosePlacement(input));
      const limits = { ...input.limits, deadlineHours: (input.limits.deadlineHours ?? 0) + hours };
      const after = expectedUsd(choosePlacement({ ...input, limits }));
      if (before === undefined || after === undefined) return;
      expect(after).toBeLessThanOrEqual(before * GRID);
    }),
    {
      numRuns: 120,
      examples: [
        [SECOND_FALLBACK, 0.0000191],
        [TWO_FALLBACKS, 0.0000095367431640625],
      ],
    },
  );
});

/** The run tries the cheap pool before an expensive one in use, whose own cost holds the move to the cheap one already. */
const ASKED_FIRST: Draw = {
  scores: [6, 1, 1],
  shares: [0.1903754234313965, 0.1, 0.1, 0.10000600814819337, 0.1000051498413086, 0.1],
  prices: [1.3688554763793945, 0.6595335006713867],
  nowHours: 0.00013675689697265623,
  workHours: 7.574513149261474,
  losses: [{ pool: 1, hoursAgo: 17.2500062084198, refused: false }],
};

/** So little work that a plan in ticks of ten minutes cannot tell which of two cheaper pools to ask first. */
const HALF_AN_HOUR: Draw = {
  scores: [5, 8, 5],
  shares: [
    0.1426715850830078, 0.13575191497802735, 0.2603325843811035, 0.3607759475708008, 0.10000429153442383,
    0.13061838150024416,
  ],
  prices: [2.6906051635742188, 3.505958080291748],
  nowHours: 0,
  workHours: 0.544432123184204,
  losses: [
    { pool: 0, hoursAgo: 3.9166798686981195, refused: true },
    { pool: 5, hoursAgo: 10.58334303855896, refused: false },
    { pool: 2, hoursAgo: 0.16666753768920897, refused: false },
  ],
};

it('expects no more to pay with better scores', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(draws, fc.integer({ min: 0, max: 5 }), (draw, better) => {
      const before = expectedUsd(choosePlacement(inputOf(draw)));
      const scores = draw.scores.map((score) => Math.min(10, score + better));
      const after = expectedUsd(choosePlacement(inputOf({ ...draw, scores })));
      if (before === undefined || after === undefined) return;
      expect(after).toBeLessThanOrEqual(before * GRID);
    }),
    {
      numRuns: 120,
      examples: [
        [ASKED_FIRST, 1],
        [HALF_AN_HOUR, 2],
      ],
    },
  );
});
