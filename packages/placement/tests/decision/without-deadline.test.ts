/** Pipelines that give patience or a value of time instead of a deadline; and what is said where a deadline cannot be promised. */
import { deadlineHoursOf, limitsSchema } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { formatDecision } from '../../../../cli/show/decision-text.ts';
import { deadlineAt } from '../../../../functions/run/attempts/make-report.ts';
import { attemptTimeoutSeconds } from '../../../../functions/run/attempts/stop-rules.ts';
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
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { declarationOf, runOf } from '../../../../test/support/builders/records.ts';
import { choosePlacement } from '../../decision/choose.ts';

const scores = (score: number) => market({ scores: ZONES.map((zoneId) => ({ zoneId, score })) });
const limits = (given: object) => limitsSchema.parse({ maximumRunSeconds: 86_400, ...given });
const decide = (given: object, hours = 1, score = 6, more = {}) =>
  launched(
    choosePlacement(
      question({ limits: limits(given), now: hoursLater(hours), market: scores(score), ...more }),
    ),
  );

describe('limits', () => {
  it('have a deadline of 24 h by default', () => {
    expect(deadlineHoursOf(limits({}))).toBe(24);
    expect(deadlineHoursOf(limits({ patienceHours: 3 }))).toBeUndefined();
    expect(deadlineHoursOf(limits({ valueOfTimeUsdPerHour: 3 }))).toBeUndefined();
    expect(deadlineHoursOf(limits({ valueOfTimeUsdPerHour: 3, deadlineHours: 5 }))).toBe(5);
  });

  it('without a deadline leave none to miss', () => {
    const declaration = declarationOf('digits', { limits: { patienceHours: 3 } });
    expect(deadlineAt(runOf('digits', 1, { declaration, closedAt: CLOSED_AT }))).toBeUndefined();
  });
});

describe('patience', () => {
  it('waits for Spot, then takes On-Demand', () => {
    expect(decide({ patienceHours: 8 }, 1).pool.purchaseOption).toBe('spot');
    const late = decide({ patienceHours: 8 }, 8.1);
    expect(late.pool.purchaseOption).toBe('on-demand');
    expect(late.reason).toMatch(/no deadline, 8 h of patience/);
  });

  it('is used up by waiting only, not by training', () => {
    const pool = poolOf('g6.xlarge', 'use1-az1');
    const trained = attempt(1, pool, {
      kind: 'interrupted',
      trainingSeconds: 7 * 3_600,
      startedAt: hoursLater(0),
      endedAt: hoursLater(7),
    });
    const more = {
      attempts: [{ ...trained, progressAfter: progress(50, 7 * 3_600) }],
      market: market({ scores: [] }),
    };
    expect(decide({ patienceHours: 2 }, 8.2, 6, more).pool.purchaseOption).toBe('spot');
    expect(decide({ patienceHours: 2 }, 9.2, 6, more).pool.purchaseOption).toBe('on-demand');
  });

  it('is not used up by packing', () => {
    const unscored = { market: market({ scores: [] }) };
    expect(decide({ patienceHours: 2 }, 9, 6, unscored).pool.purchaseOption).toBe('on-demand');
    const packed = { ...unscored, sealedAt: hoursLater(8) };
    expect(decide({ patienceHours: 2 }, 9, 6, packed).pool.purchaseOption).toBe('spot');
    expect(decide({ patienceHours: 2 }, 10.5, 6, packed).pool.purchaseOption).toBe('on-demand');
  });

  it('never gives a run up for its age', () => {
    expect(decide({ patienceHours: 1 }, 500).pool.purchaseOption).toBe('on-demand');
  });

  it('keeps a run whose fast topology has no capacity', () => {
    const fast = poolOf('p3.8xlarge', 'use1-az1', 'on-demand');
    const saved = { ...progress(20, 7_200), usage: { cpuPercent: 20, gpuPercent: 95 } };
    const trained = attempt(1, fast, {
      kind: 'interrupted',
      trainingSeconds: 7_200,
      startedAt: hoursLater(0),
      endedAt: hoursLater(2),
    });
    const topology = { nodes: 1, acceleratorsPerNode: 4 };
    const more = {
      attempts: [{ ...trained, placement: { ...trained.placement, topology }, progressAfter: saved }],
      progress: saved,
      compute: { ...question().compute, nodes: 1, instanceTypes: ['p3.8xlarge', 'g4dn.xlarge'] },
      market: market({ spotPrices: [], onDemandPrices: [onDemand('g4dn.xlarge', 0.7)] }),
    };
    expect(decide({ patienceHours: 1 }, 9, 6, more).pool).toMatchObject({ instanceType: 'g4dn.xlarge' });
  });
});

it.each([{ patienceHours: 1 }, { valueOfTimeUsdPerHour: 0.01 }])(
  'endless steps stay within dates and timers, with %j',
  (given) => {
    const endless = { ...progress(50, 5_000), totalSteps: Number.MAX_SAFE_INTEGER };
    const pool = poolOf('g6.xlarge', 'use1-az1');
    const trained = attempt(1, pool, { kind: 'interrupted', endedAt: hoursLater(2), trainingSeconds: 5_300 });
    const attempts = [{ ...trained, progressAfter: endless }];
    const input = question({ limits: limits(given), now: hoursLater(3), attempts, progress: endless });
    const decision = choosePlacement(input);
    expect(formatDecision(decision, input.now)).toContain('chosen');
    expect(attemptTimeoutSeconds(launched(decision))).toBeLessThan(99_999_999);
  },
);

describe('a value of time', () => {
  it('takes On-Demand sooner the more an hour is worth', () => {
    expect(decide({ valueOfTimeUsdPerHour: 0.01 }, 1, 2).pool.purchaseOption).toBe('spot');
    const hasty = decide({ valueOfTimeUsdPerHour: 50 }, 1, 2);
    expect(hasty.pool.purchaseOption).toBe('on-demand');
    expect(hasty.reason).toMatch(/an hour sooner is worth \$50\.00.*there is no deadline/);
  });

  it('of a cent leaves ties, by time and by name', () => {
    const prices = market({ onDemandPrices: [onDemand('g5.xlarge', 1), onDemand('g6.xlarge', 0.965)] });
    const compute = { ...question().compute, purchaseOption: 'on-demand' as const };
    const more = { compute, market: prices };
    const verdicts = decide({ valueOfTimeUsdPerHour: 0.01 }, 1, 6, more).considered.map(
      ({ pool, verdict }) => [pool.instanceType, verdict.split(' (')[0]],
    );
    expect(verdicts.slice(0, 4)).toEqual([
      ['g5.xlarge', 'chosen'],
      ['g5.xlarge', 'as good, second by name'],
      ['g5.xlarge', 'as good, second by name'],
      ['g6.xlarge', 'costs the same and takes longer'],
    ]);
  });

  it('is in no budget: that is of money', () => {
    // 6 h of work on two nodes at 1.25 USD are 15 USD and a start; the time is worth 300.
    expect(decide({ valueOfTimeUsdPerHour: 50, budgetUsd: 18 }, 1, 2).pool.purchaseOption).toBe('on-demand');
  });
});

describe('a deadline that cannot be promised', () => {
  it('is reported at the start', () => {
    expect(decide({}, 0, 6, { expectedSeconds: undefined }).reason).toMatch(
      /^nothing is known of the pace.*the deadline cannot be promised until a checkpoint shows the throughput/,
    );
  });

  it('is reported when former runs took longer', () => {
    const late = decide({ deadlineHours: 5 }, 0);
    expect(late.pool.purchaseOption).toBe('on-demand');
    expect(late.reason).toMatch(/the deadline can no longer be promised/);
  });
});
