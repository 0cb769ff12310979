/** Running attempts that are recalled although they run well, and those that are left alone. */
import { describe, expect, it } from 'vitest';
import {
  attempt,
  hoursLater,
  market,
  poolOf,
  progress,
  question,
} from '../../../../test/support/builders/placement.ts';
import { revise } from '../../decision/revise.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import type { Pool } from '../../records/placement-records.ts';

const HOUR = 3_600;
const ON_DEMAND: Pool = poolOf('g6.xlarge', 'use1-az1', 'on-demand');
/** No other type that may be faster. */
const ONE_TYPE = { ...question().compute, instanceTypes: ['g6.xlarge'] };
const SPOT: Pool = { ...ON_DEMAND, purchaseOption: 'spot' };
const scores = (score: number) =>
  market({ scores: ['use1-az1', 'use1-az2', 'use1-az4'].map((zoneId) => ({ zoneId, score })) });

interface Given {
  readonly pool?: Pool;
  /** Of 100 steps, after so many hours of training. */
  readonly steps?: number;
  readonly hours?: number;
  /** Since the newest checkpoint. */
  readonly unsavedHours?: number;
  readonly ask?: Partial<PlacementInput>;
}

/** Two nodes that began to train when the batch was closed, and saved a moment ago. */
function look({ pool = ON_DEMAND, steps = 20, hours = 2, unsavedHours = 0, ask = {} }: Given = {}) {
  const now = new Date(hoursLater(hours + unsavedHours));
  return revise({
    attempt: { ...attempt(1, pool, { kind: 'completed' }), outcome: undefined },
    progress: { ...progress(steps, hours * HOUR), updatedAt: hoursLater(hours) },
    trainingSince: new Date(hoursLater(0)),
    now,
    question: question({ market: scores(9), compute: ONE_TYPE, ...ask }),
  });
}

describe('an On-Demand attempt that runs', () => {
  it('moves to Spot when clearly cheaper and safe', () => {
    const moved = look();
    expect(moved?.cause).toBe('spot');
    expect(moved?.why).toMatch(
      /Spot \(g6\.xlarge in use1-az\d\).*expected to cost \$\d+\.\d\d instead of \$/,
    );
  });

  it('stays where Spot is down or hardly cheaper', () => {
    expect(look({ ask: { market: scores(1) } })).toBeUndefined();
    const dear = scores(9);
    const spotPrices = dear.spotPrices.map((each) => ({ ...each, hourlyUsd: 0.89 }));
    expect(look({ ask: { market: { ...dear, spotPrices } } })).toBeUndefined();
  });

  it('stays when nearly done', () => {
    expect(look({ hours: 9, steps: 98 })).toBeUndefined();
  });

  it('stays where a loss would miss the deadline', () => {
    const limits = { ...question().limits, deadlineHours: 10.4 };
    expect(look({ ask: { limits } })).toBeUndefined();
  });

  it('moves before a save as after one', () => {
    const limits = { ...question().limits, deadlineHours: 11 };
    expect(look({ ask: { limits } })?.cause).toBe('spot');
    // Half an hour of slack is left beside start and margin; without the unsaved work it would look used up.
    expect(look({ unsavedHours: 0.75, ask: { limits } })?.cause).toBe('spot');
  });

  it('does not use up patience while it trains', () => {
    const limits = { ...question().limits, deadlineHours: undefined, patienceHours: 1.5 };
    expect(look({ ask: { limits } })?.cause).toBe('spot');
  });

  it('stays where the pipeline wants no Spot', () => {
    const compute = { ...ONE_TYPE, purchaseOption: 'on-demand' as const };
    expect(look({ ask: { compute } })).toBeUndefined();
  });
});

/** Five times in a row, the last so long ago. */
const onDemandRefused = (minutesAgo: number, zones = ['use1-az1', 'use1-az2', 'use1-az4']) =>
  zones.flatMap((zoneId) =>
    [4, 3, 2, 1, 0].map((before) => ({
      atMilliseconds: Date.parse(hoursLater(2)) - (minutesAgo + before) * 60_000,
      instanceType: 'g6.xlarge',
      zoneId,
      launcher: 'sagemaker' as const,
      purchaseOption: 'on-demand' as const,
      seen: 'capacityError' as const,
    })),
  );

describe('a Spot attempt that runs', () => {
  const late = (deadlineHours: number, steps = 20) => {
    const limits = { ...question().limits, deadlineHours };
    return look({ pool: SPOT, steps, ask: { limits } });
  };

  it('stays while an On-Demand start still fits', () => {
    // 8 h of work are left after 2 h.
    expect(late(11)).toBeUndefined();
  });

  it('changes at the last moment when slower than estimated', () => {
    const change = late(10 + 1 / 6);
    expect(change?.cause).toBe('deadline');
    expect(change?.why).toMatch(/8\.0 h of work are left/);
  });

  it('is not stopped for On-Demand that is cooling down', () => {
    const limits = { ...question().limits, deadlineHours: 10 + 1 / 6 };
    const given = (observations: ReturnType<typeof onDemandRefused>) =>
      look({ pool: SPOT, ask: { limits, observations: observations } })?.cause;
    // A rest of a quarter of an hour.
    expect(given(onDemandRefused(5))).toBeUndefined();
    expect(given(onDemandRefused(5, ['use1-az1', 'use1-az2']))).toBe('deadline');
    // Over before a save would be.
    expect(given(onDemandRefused(14))).toBe('deadline');
  });

  it('stays however long it trains within its patience', () => {
    const limits = { ...question().limits, deadlineHours: undefined, patienceHours: 2.05 };
    expect(look({ pool: SPOT, ask: { limits } })).toBeUndefined();
  });

  it('goes on when too late or nearly done', () => {
    expect(late(10)).toBeUndefined();
    expect(late(2.2, 98)).toBeUndefined();
  });
});
