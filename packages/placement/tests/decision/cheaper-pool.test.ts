/** Several Spot pools of different prices: which is started, asked first, waited for, or moved to. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evenly } from '../../../../test/support/builders/evenly.ts';
import {
  attempt,
  hoursLater,
  market,
  onDemand,
  poolOf,
  progress,
  question,
  spot,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { revise } from '../../decision/revise.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import type { Pool } from '../../records/placement-records.ts';

const HOUR = 3_600;
const [CHEAP, DEAR] = ZONES;
const poolIn = (zoneId: string): Pool => poolOf('g6.xlarge', zoneId);

type Score = number | 'none';

/** One type, cheap in one zone and dear in another, and what is said of each. */
const requested = (
  { cheap = 9, dear = 9 }: { readonly cheap?: Score; readonly dear?: number },
  change: Partial<PlacementInput> = {},
): PlacementInput =>
  question({
    compute: {
      ...question().compute,
      instanceTypes: ['g6.xlarge'],
      vpc: {
        securityGroupIds: ['sg-1'],
        subnets: [CHEAP, DEAR].map((zoneId, k) => ({ id: `subnet-${k}`, zoneId })),
      },
    },
    market: market({
      scores: [...(cheap === 'none' ? [] : [{ zoneId: CHEAP, score: cheap }]), { zoneId: DEAR, score: dear }],
      spotPrices: [spot('g6.xlarge', CHEAP, 0.3), spot('g6.xlarge', DEAR, 0.6)],
      onDemandPrices: [onDemand('g6.xlarge', 1.125)],
    }),
    ...change,
  });

const trained = (zoneId: string, [from, to]: readonly [number, number], kind: 'interrupted' | 'recalled') =>
  attempt(1, poolIn(zoneId), { kind, startedAt: hoursLater(from), endedAt: hoursLater(to) });

/** So many attempts that were requested under a high score and got capacity: scores have turned out right. */
const scoresTrusted = Array.from({ length: 30 }, (_, k) => ({
  atMilliseconds: Date.parse(hoursLater(0)) - (k + 1) * 9_000_000,
  instanceType: 'g6.xlarge',
  zoneId: ZONES[2],
  launcher: 'sagemaker' as const,
  purchaseOption: 'spot' as const,
  seen: k % 2 === 0 ? ('up' as const) : ('capacityError' as const),
  score: k % 2 === 0 ? 9 : 1,
}));

/** The cheap zone has run for hours and went twelve minutes ago. */
const justGone = { attempts: [trained(CHEAP, [1, 8], 'interrupted')], now: hoursLater(8.2) };

describe('beside a dearer pool that is there', () => {
  const decide = (input: PlacementInput) => choosePlacement({ ...input, observations: scoresTrusted });

  it('waits for a cheaper one while slack lasts', () => {
    const decision = decide(requested({ cheap: 1 }, justGone));
    expect(decision).toMatchObject({ kind: 'wait', seconds: 600 });
    expect(decision.kind === 'wait' && decision.reason).toMatch(
      /g6\.xlarge in use1-az1 is down, cheaper than g6\.xlarge in use1-az2, and expected to have capacity again: waiting for it saves \$\d+\.\d\d/,
    );
  });

  it('needs slack, a score and a saving to wait', () => {
    const pool = (input: PlacementInput) => {
      const decision = decide(input);
      return decision.kind === 'launch' ? decision.placement.pool.zoneId : decision.kind;
    };
    const limits = { ...question().limits, deadlineHours: 15.5 };
    expect(pool(requested({ cheap: 1 }, { ...justGone, limits }))).toBe(DEAR);
    expect(pool(requested({ cheap: 'none' }, justGone))).toBe(DEAR);
    const { market: view } = requested({ cheap: 1 });
    const alike = { ...view, spotPrices: [spot('g6.xlarge', CHEAP, 0.595), spot('g6.xlarge', DEAR, 0.6)] };
    expect(pool(requested({}, { ...justGone, market: alike }))).toBe(DEAR);
    const hurried = { ...question().limits, valueOfTimeUsdPerHour: 5 };
    expect(pool(requested({ cheap: 1 }, { ...justGone, limits: hurried }))).toBe(DEAR);
  });

  it('does not wait while the work is unknown', () => {
    const patient = { ...question().limits, deadlineHours: 100 };
    const known = requested({ cheap: 1 }, { ...justGone, limits: patient });
    expect(decide(known).kind).toBe('wait');
    expect(decide({ ...known, expectedSeconds: undefined }).kind).toBe('launch');
  });

  it('takes a cheaper one once its score rises', () => {
    const decision = decide(requested({ cheap: 9 }, { ...justGone, now: hoursLater(9) }));
    expect(decision.kind === 'launch' && decision.placement.pool).toEqual(poolIn(CHEAP));
  });
});

interface Look {
  readonly cheap?: Score;
  readonly steps?: number;
  readonly change?: Partial<PlacementInput>;
}

/** Two hours into an attempt in the dear zone, saved a moment ago. */
const look = ({ cheap = 9, steps = 20, change = {} }: Look = {}) =>
  revise({
    attempt: { ...attempt(1, poolIn(DEAR), { kind: 'completed' }), outcome: undefined },
    progress: { ...progress(steps, 2 * HOUR), updatedAt: hoursLater(2) },
    trainingSince: new Date(hoursLater(0)),
    now: new Date(hoursLater(2)),
    question: requested({ cheap }, { observations: scoresTrusted, ...change }),
  });

describe('an attempt that runs in a dearer pool', () => {
  it('moves to a cheaper one that is up again', () => {
    const moved = look();
    expect(moved?.cause).toBe('spot');
    expect(moved?.why).toMatch(/moved to cheaper Spot \(g6\.xlarge in use1-az1\), which saves about \$\d/);
    const attempts = [
      {
        ...trained(DEAR, [0, 2], 'recalled'),
        progressAfter: { ...progress(20, 2 * HOUR), updatedAt: hoursLater(2) },
      },
    ];
    const next = choosePlacement(
      requested(
        {},
        { attempts, progress: progress(20, 2 * HOUR), now: hoursLater(2.05), observations: scoresTrusted },
      ),
    );
    expect(next.kind === 'launch' && next.placement.pool).toEqual(poolIn(CHEAP));
  });

  it('moves without a score once capacity is likely', () => {
    expect(look({ cheap: 'none' })?.cause).toBe('spot');
    const attempts = [trained(CHEAP, [-3, 1.7], 'interrupted')];
    expect(look({ cheap: 'none', change: { attempts } })).toBeUndefined();
  });

  it('is moved where the pipeline wants Spot only, too', () => {
    const compute = { ...requested({}).compute, purchaseOption: 'spot' as const };
    expect(look({ change: { compute } })?.cause).toBe('spot');
  });

  it('stays while a move would gain nothing', () => {
    expect(look({ cheap: 1 })).toBeUndefined();
    expect(look({ steps: 98 })).toBeUndefined();
    const view = requested({}).market;
    const alike = { ...view, spotPrices: [spot('g6.xlarge', CHEAP, 0.59), spot('g6.xlarge', DEAR, 0.6)] };
    expect(look({ change: { market: alike } })).toBeUndefined();
  });

  it('stays once half of the attempts are used', () => {
    const used = (attempts: number) => look({ change: { limits: { ...question().limits, attempts } } });
    expect(used(4)?.cause).toBe('spot');
    expect(used(3)).toBeUndefined();
  });

  it('stays where a loss could not be borne', () => {
    const limits = { ...question().limits, deadlineHours: 10.4 };
    expect(look({ change: { limits } })).toBeUndefined();
  });
});

const anyLook = fc.record({
  cheap: fc.integer({ min: 1, max: 10 }),
  steps: fc.integer({ min: 5, max: 95 }),
  price: evenly(0.1, 0.6),
});
const moves = ({ cheap, steps, price }: { cheap: number; steps: number; price: number }, times = 1) => {
  const view = requested({ cheap }).market;
  const prices = [spot('g6.xlarge', CHEAP, times * price), spot('g6.xlarge', DEAR, times * 0.6)];
  const onDemandPrices = [onDemand('g6.xlarge', times * 1.125)];
  const limits = { ...question().limits, valueOfTimeUsdPerHour: times * 0.02 };
  const change = { market: { ...view, spotPrices: prices, onDemandPrices }, limits };
  return look({ cheap, steps, change })?.cause === 'spot';
};

it('is decided alike in any currency', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(anyLook, (each) => {
      expect(moves(each, 2)).toBe(moves(each));
    }),
    { numRuns: 40 },
  );
});

it('needs no better score for a lower price', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(anyLook, evenly(0.5, 1), (each, share) => {
      const isMovedForLess = !moves(each) || moves({ ...each, price: each.price * share });
      expect(isMovedForLess).toBe(true);
    }),
    { numRuns: 40 },
  );
});

it('never moves to a pool that `place` would refuse', {
  timeout: 60_000,
}, () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 1, max: 10 }), fc.constant('none' as const)),
      fc.integer({ min: 5, max: 60 }),
      evenly(0.1, 0.5),
      fc.integer({ min: 20, max: 60 }),
      (cheap, steps, price, deadlineHours) => {
        const view = requested({ cheap }).market;
        const priced = {
          ...view,
          spotPrices: [spot('g6.xlarge', CHEAP, price), spot('g6.xlarge', DEAR, 0.6)],
        };
        const change = {
          market: priced,
          limits: { ...question().limits, deadlineHours },
          observations: scoresTrusted,
        };
        const moved = look({ cheap, steps, change });
        if (moved?.cause !== 'spot') return;
        const saved = { ...progress(steps, 2 * HOUR), updatedAt: hoursLater(2) };
        const attempts = [{ ...trained(DEAR, [0, 2], 'recalled'), progressAfter: saved }];
        const next = choosePlacement(
          requested({ cheap }, { ...change, attempts, progress: saved, now: hoursLater(2.01) }),
        );
        expect(next.kind === 'launch' && next.placement.pool).toEqual(poolIn(CHEAP));
      },
    ),
    { numRuns: 60 },
  );
});
