/** Money and finish of a run while it trains, and how often the intervals hold. */

import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { describe, expect, it } from 'vitest';
import type { AttemptRecord } from '../../../../functions/records/run-records.ts';
import { forecast } from '../../../../functions/run/attempts/forecast.ts';
import { moneyOf } from '../../../../functions/run/attempts/money.ts';
import {
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../../support/builders/records.ts';

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('nothing is expected');
  return value;
}

const DAY = 86_400;
const RUN = runOf('digits', 1, {
  status: 'training',
  declaration: declarationOf('digits', { limits: { deadlineHours: 12, budgetUsd: 50 } }),
  closedAt: secondsAfter(0),
});
const at = (seconds: number) => new Date(secondsAfter(seconds));
const onDemand = placementOf({
  pool: { instanceType: 'g5.xlarge', purchaseOption: 'on-demand', launcher: 'sagemaker' },
  considered: [],
});
/** $1.20 an hour on Spot, $3 on demand: two nodes. */
const lost = attemptOf(RUN.runId, 1, {
  createdAt: secondsAfter(0),
  outcome: outcomeOf('interrupted', {
    trainingSeconds: 3_600,
    billableSeconds: 1_440,
    endedAt: secondsAfter(3_600),
  }),
  progressAfter: progressOf(300, {
    totalSteps: 1_000,
    trainingSeconds: 3_000,
    updatedAt: secondsAfter(3_000),
  }),
});
const running = (over: Partial<AttemptRecord> = {}) =>
  attemptOf(RUN.runId, 2, {
    status: 'running',
    createdAt: secondsAfter(3_700),
    startedAt: secondsAfter(3_900),
    progressBefore: lost.progressAfter,
    ...over,
  });

describe('the money of a run', () => {
  it('grows with the hosts of an open attempt', () => {
    const money = moneyOf({ run: RUN, attempts: [lost, running()], now: at(7_500) });
    expect(money.usd).toBeCloseTo(1.2 + 1.2, 9);
    expect(money.usdPerSecond).toBeCloseTo(1.2 / 3_600, 9);
    expect(money.byPurchaseOption).toEqual([{ purchaseOption: 'spot', seconds: 7_200, usd: money.usd }]);
    expect(money.lost).toEqual({ seconds: 600, usd: expect.closeTo(0.2) as number });
    expect(money.onDemandUsd).toBeCloseTo(3 * (3_000 / 3_600) + 3, 9);
    expect(money).toMatchObject({ budgetUsd: 50, deadlineAt: secondsAfter(12 * 3_600) });
  });

  it('costs nothing while it waits for capacity', () => {
    const waiting = running({ status: 'waitingForCapacity', startedAt: undefined });
    const money = moneyOf({ run: RUN, attempts: [waiting], now: at(9_000) });
    expect(money).toMatchObject({ usd: 0, usdPerSecond: 0, onDemandUsd: 0 });
  });

  it('is parted by purchase option', () => {
    const now = at(7_500);
    const { byPurchaseOption } = moneyOf({
      run: RUN,
      attempts: [lost, running({ placement: onDemand })],
      now,
    });
    expect(byPurchaseOption.map(({ purchaseOption, seconds }) => [purchaseOption, seconds])).toEqual([
      ['spot', 3_600],
      ['on-demand', 3_600],
    ]);
  });

  it('is compared with itself on demand', () => {
    const now = at(7_500);
    const { usd, onDemandUsd } = moneyOf({ run: RUN, attempts: [running({ placement: onDemand })], now });
    expect([onDemandUsd, usd > 0]).toEqual([usd, true]);
  });

  it('expects nothing of an ended run', () => {
    const ended = { ...RUN, status: 'failed' as const };
    const money = moneyOf({ run: ended, attempts: [lost], now: at(DAY) });
    expect(money.expected).toBeUndefined();
    expect(money.usdPerSecond).toBe(0);
  });
});

describe('what a run is expected to cost', () => {
  it('lies between its bounds, and above what is spent', () => {
    const money = moneyOf({ run: RUN, attempts: [lost, running()], now: at(4_000) });
    const { usd, finishAt, basis } = known(money.expected);
    expect(basis).toBe('measured');
    expect(money.usd).toBeLessThan(usd.low);
    expect(usd.low).toBeLessThan(usd.expected);
    expect(usd.expected).toBeLessThan(usd.high);
    expect(finishAt.low < finishAt.expected && finishAt.expected < finishAt.high).toBe(true);
  });

  it('is unknown before anything says how much there is', () => {
    const first = attemptOf(RUN.runId, 1, { status: 'running' });
    expect(moneyOf({ run: RUN, attempts: [first], now: at(60) }).expected).toBeUndefined();
  });

  it('follows former runs before the first checkpoint', () => {
    const first = attemptOf(RUN.runId, 1, {
      status: 'running',
      placement: placementOf({ expectedSeconds: 7_200 }),
    });
    const { expected } = moneyOf({ run: RUN, attempts: [first], now: at(60) });
    expect(expected?.basis).toBe('declared');
  });

  it('ends within its interval, however short the work', () => {
    const [row] = placementOf().considered;
    const scarce = placementOf({ considered: row === undefined ? [] : [{ ...row, expectedUpSeconds: 60 }] });
    const progress = progressOf(995, {
      totalSteps: 1_000,
      trainingSeconds: 9_950,
      updatedAt: secondsAfter(3_900),
    });
    const { seconds } = known(
      forecast({
        attempts: [lost, running({ placement: scarce })],
        progress,
        now: at(3_900),
        maximumRunSeconds: DAY,
      }),
    );
    expect(seconds.expected).toBeLessThanOrEqual(seconds.high);
  });

  it('counts no interruption on demand', () => {
    const attempts = [{ ...running({ placement: onDemand }), attempt: 1 }];
    const { seconds, workSeconds } = known(
      forecast({ attempts, progress: lost.progressAfter, now: at(4_000), maximumRunSeconds: DAY }),
    );
    expect(seconds.expected).toBe(workSeconds);
  });
});

/** Plays what the forecast takes for true: interruptions at a constant rate that it has to learn from one attempt. */
function played(seed: string): { readonly finish: number; readonly within: boolean } {
  const chance = seededUniform(seed);
  const meanUp = 3_600 * (2 + 10 * chance());
  const pace = Math.exp(0.1 * (chance() + chance() + chance() + chance() - 2));
  const attempts = [
    running({
      progressBefore: undefined,
      attempt: 1,
      createdAt: secondsAfter(0),
      startedAt: secondsAfter(0),
    }),
  ];
  const progress = progressOf(100, {
    totalSteps: 1_000,
    trainingSeconds: 2_000,
    updatedAt: secondsAfter(2_000),
  });
  const { seconds } = known(forecast({ attempts, progress, now: at(2_000), maximumRunSeconds: DAY }));
  let [left, clock] = [18_000 * pace, 0];
  while (left > 0) {
    const up = -Math.log(1 - chance()) * meanUp;
    if (up >= left) {
      clock += left;
      break;
    }
    left -= up;
    clock += up + 600;
    left += 120;
  }
  return { finish: clock, within: clock >= seconds.low && clock <= seconds.high };
}

it('the interval holds nine times of ten', () => {
  const runs = Array.from({ length: 400 }, (_, index) => played(`run ${index}`));
  const share = runs.filter(({ within }) => within).length / runs.length;
  expect(share).toBeGreaterThan(0.85);
});
