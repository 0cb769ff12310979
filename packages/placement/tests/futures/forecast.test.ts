/** What a forecast says of a run's end and cost. */

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
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { type PlacementInput, situationOf } from '../../decision/situation.ts';
import { type Forecast, forecastRun, type Standing } from '../../futures/forecast.ts';
import { live } from '../../futures/live.ts';
import { worldOf } from '../../futures/run-world.ts';
import type { AttemptOutcome } from '../../records/attempts.ts';

const HOUR = 3_600;

function forecastOf(input: PlacementInput, standing?: Standing, seed = 'digits-000001'): Forecast {
  const chosen = (): Standing => ({ kind: 'chosen', placement: launched(choosePlacement(input)) });
  const found = forecastRun({ input, standing: standing ?? chosen(), spentUsd: 0, seed });
  if (found === undefined) throw new Error('nothing is forecast');
  return found;
}

const onDemandOnly = (change: Partial<PlacementInput> = {}): PlacementInput =>
  question({ compute: { ...question().compute, purchaseOption: 'on-demand' }, ...change });

/** An attempt without an outcome, in a pool that the question has. */
function held(purchaseOption: 'spot' | 'on-demand', since: string, scriptSince?: string): Standing {
  const { outcome: _, ...placed } = attempt(1, poolOf('g5.xlarge', 'use1-az1', purchaseOption), {
    kind: 'completed',
  });
  return {
    kind: 'attempt',
    placed,
    heldSince: new Date(since),
    scriptSince: scriptSince === undefined ? undefined : new Date(scriptSince),
  };
}

describe('a forecast', () => {
  it('is the same for the same seed', () => {
    expect(forecastOf(question())).toEqual(forecastOf(question()));
    expect(forecastOf(question(), undefined, 'digits-000002')).not.toEqual(forecastOf(question()));
  });

  it('is a median between two ends', () => {
    const { seconds, usd, lateChance } = forecastOf(question());
    for (const { low, expected, high } of [seconds, usd]) {
      expect(low).toBeGreaterThan(0);
      expect(low).toBeLessThan(expected);
      expect(expected).toBeLessThan(high);
    }
    expect(lateChance).toBeLessThan(0.05);
  });

  it('is nothing where nothing is known', () => {
    const input = question({ expectedSeconds: undefined });
    const standing: Standing = { kind: 'waits', seconds: 0 };
    expect(forecastRun({ input, standing, spentUsd: 0, seed: '' })).toBeUndefined();
  });

  it('counts one start and no loss on demand', () => {
    const { seconds, usd, onDemandUsd } = forecastOf(onDemandOnly());
    expect(seconds.expected / (6 * HOUR + 300)).toBeCloseTo(1, 1);
    expect(usd.expected / onDemandUsd).toBeCloseTo(1, 1);
  });

  it('counts no start that has happened', () => {
    const at = (now: string) =>
      forecastOf(
        onDemandOnly({ now, progress: progress(50, 3 * HOUR) }),
        held('on-demand', CLOSED_AT, CLOSED_AT),
      );
    expect(at(hoursLater(0)).seconds.expected).toBeCloseTo(3 * HOUR, -2);
  });

  it('goes on at the pace that a burst leaves', () => {
    const reading = { inputMode: 'FastFile', bytesPerStep: 5e8, dataBytes: 1e11, processBytes: 5e9 } as const;
    const saved = { ...progress(1_000, 500), totalSteps: 10_000 };
    const { outcome: _, ...open } = attempt(1, poolOf('g5.xlarge', 'use1-az1', 'on-demand'), {
      kind: 'completed',
    });
    const placed = { ...open, progressAfter: saved, diagnosis: { reading } };
    const input = onDemandOnly({ attempts: [placed], now: hoursLater(0), progress: saved });
    const [heldSince, scriptSince] = [new Date(CLOSED_AT), new Date(CLOSED_AT)];
    const standing: Standing = { kind: 'attempt', placed, heldSince, scriptSince };
    const { seconds, workSeconds } = forecastOf(input, standing);
    expect(workSeconds).toBeGreaterThan(13_000);
    expect(seconds.expected / workSeconds).toBeCloseTo(1, 1);
  });

  it('takes former runs together, not the longest', () => {
    const formerSeconds = [6, 4, 4, 4, 4].map((hours) => hours * HOUR);
    const { seconds } = forecastOf(onDemandOnly({ formerSeconds }));
    expect(seconds.expected).toBeLessThan(4.7 * HOUR);
  });

  it('holds the time of packing', () => {
    const input = onDemandOnly();
    const standing: Standing = { kind: 'chosen', placement: launched(choosePlacement(input)) };
    const packed = forecastRun({ input, standing, spentUsd: 0, seed: 's', packingSeconds: [HOUR] });
    const bare = forecastRun({ input, standing, spentUsd: 0, seed: 's' });
    expect((packed?.seconds.expected ?? 0) - (bare?.seconds.expected ?? 0)).toBeCloseTo(HOUR, -2);
  });
});

describe('work past its declared end', () => {
  it.each([
    ['by steps', { progress: { ...progress(100, 2 * HOUR), updatedAt: hoursLater(2) } }],
    ['by former runs', { expectedSeconds: HOUR }],
  ])('has a width, %s', (_what, change) => {
    const input = onDemandOnly({ now: hoursLater(3), ...change });
    const { seconds } = forecastOf(input, held('on-demand', CLOSED_AT, CLOSED_AT));
    expect(seconds.low).toBeGreaterThan(10);
    expect(seconds.high).toBeGreaterThan(3 * seconds.low);
  });
});

describe('the chance of being late', () => {
  const until = (deadlineHours: number, change: Partial<PlacementInput> = {}) =>
    forecastOf(onDemandOnly({ limits: { ...question().limits, deadlineHours }, ...change })).lateChance;

  it('falls with a later deadline', () => {
    // An hour has passed, and six are to come.
    expect(until(5)).toBeGreaterThan(0.9);
    expect(until(7.1)).toBeGreaterThan(0.2);
    expect(until(20)).toBeLessThan(0.02);
  });

  it('grows while On-Demand is refused', () => {
    const refused = [0.1, 0.9].map((hours) => ({
      atMilliseconds: Date.parse(hoursLater(hours)),
      instanceType: 'g5.xlarge',
      zoneId: 'use1-az1',
      purchaseOption: 'on-demand' as const,
      launcher: 'sagemaker' as const,
      seen: 'capacityError' as const,
    }));
    expect(until(9, { observations: refused })).toBeGreaterThan((until(9) ?? 1) + 0.1);
  });

  it('grows with the waits of former runs', () => {
    const onDemandWaits = Array.from({ length: 20 }, () => 2.5 * HOUR);
    expect(until(9, { onDemandWaits })).toBeGreaterThan((until(9) ?? 1) + 0.1);
  });

  it('grows where attempts differ in pace', () => {
    const pool = poolOf('g5.xlarge', 'use1-az1', 'on-demand');
    const shown = (first: number, second: number) => {
      const [before, after] = [progress(20, first * HOUR), progress(40, (first + second) * HOUR)];
      const attempts = [
        attempt(1, pool, { kind: 'interrupted' }, { progressAfter: before }),
        attempt(2, pool, { kind: 'interrupted' }, { progressBefore: before, progressAfter: after }),
      ];
      return until(10, { now: hoursLater(5), attempts, progress: after }) ?? 1;
    };
    expect(shown(1.9, 1.1)).toBeGreaterThan(shown(1.5, 1.5) + 0.05);
  });

  it('is none without a deadline', () => {
    const limits = { ...question().limits, deadlineHours: undefined, patienceHours: 3 };
    expect(forecastOf(onDemandOnly({ limits })).lateChance).toBeUndefined();
  });
});

it('a budget ends a run and its cost', () => {
  const input = onDemandOnly({ limits: { ...question().limits, budgetUsd: 2 } });
  const standing = held('on-demand', CLOSED_AT, CLOSED_AT);
  const { usd, overBudgetChance } = forecastOf(input, standing);
  expect(usd.high).toBeLessThanOrEqual(2);
  expect(overBudgetChance).toBeGreaterThan(0.5);
});

it('a pool that is lost often ends later', () => {
  const ended = (kind: AttemptOutcome['kind']) => (k: number) =>
    attempt(k, poolOf('g5.xlarge', 'use1-az1'), {
      kind,
      startedAt: hoursLater(k / 2),
      endedAt: hoursLater(k / 2 + 0.4),
      trainingSeconds: 1_000,
    });
  const input = (kind: AttemptOutcome['kind']) => {
    const { compute } = question();
    const oneZone = {
      ...compute,
      instanceTypes: ['g5.xlarge'],
      vpc: { ...compute.vpc, subnets: [{ id: 's', zoneId: 'use1-az1' }], securityGroupIds: [] },
    };
    return question({ compute: oneZone, now: hoursLater(3), attempts: [1, 2, 3, 4].map(ended(kind)) });
  };
  const standing: Standing = { kind: 'waits', seconds: 0 };
  expect(forecastOf(input('interrupted'), standing).seconds.expected).toBeGreaterThan(
    forecastOf(input('recalled'), standing).seconds.expected + 600,
  );
});

it('a look takes less than 50 ms', () => {
  const input = question({
    market: market({ onDemandPrices: [onDemand('g5.xlarge', 1), onDemand('g6.xlarge', 1.2)] }),
  });
  const took = Array.from({ length: 9 }, () => {
    const began = process.cpuUsage();
    forecastOf(input);
    return process.cpuUsage(began).user / 1_000;
  }).toSorted((a, b) => a - b);
  expect(took[4]).toBeLessThan(50);
});

it('a future asks no pool second by second', () => {
  const input = question({ market: market({ scores: [] }) });
  const world = worldOf(situationOf(input), undefined, 0, 0);
  const spot = [...world.spot];
  let asked = 0;
  spot.entries = () => {
    asked += 1;
    return world.spot.entries();
  };
  /** Each spell ends before a start does, so that every pool is soon one that was just lost. */
  const flickers = { isUp: () => true, changeAfter: (at: number) => at + 60 };
  const ended = live(
    { ...world, spot },
    {
      workSeconds: 6 * HOUR,
      packingSeconds: 0,
      pools: spot.map(() => flickers),
      ownPace: 1,
      nextPace: () => 1,
      placePace: () => 1,
      start: 1,
      price: 1,
      demandWaitSeconds: 0,
    },
    { kind: 'nothing', waitSeconds: 0 },
  );
  expect(ended.isDone).toBe(true);
  expect(asked / (ended.seconds / 60)).toBeLessThan(2);
});
