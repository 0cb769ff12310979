/** Money and finish of a run while it trains. */

import { storedPart } from '@tidewheel/placement/choose.ts';
import type { StoredDecision } from '@tidewheel/placement/records.ts';
import { describe, expect, it } from 'vitest';
import type { AttemptRecord } from '../../../../functions/records/run-records.ts';
import type { StoredPlacement } from '../../../../functions/records/stores.ts';
import { moneyOf } from '../../../../functions/run/attempts/money.ts';
import { question, vpc } from '../../../support/builders/placement.ts';
import {
  attemptOf,
  declarationOf,
  launchOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
  waitOf,
} from '../../../support/builders/records.ts';

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('nothing is expected');
  return value;
}

const DAY = 86_400;
const RUN = runOf('digits', 1, {
  status: 'training',
  declaration: declarationOf('digits', {
    limits: { deadlineHours: 12, budgetUsd: 50 },
    compute: { instanceTypes: ['g5.xlarge', 'g6.xlarge'], nodes: 2, vpc },
  }),
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

/** Decided an hour after the close of its batch. */
const input = question({ now: secondsAfter(3_600) });
const decided = (over: Partial<StoredDecision> = {}): StoredPlacement => ({
  attempt: 2,
  decision: { ...launchOf(), ...over, question: storedPart(input) } as StoredDecision,
});

describe('what a run is expected to cost', () => {
  const first = (over: Partial<AttemptRecord> = {}) =>
    attemptOf(RUN.runId, 2, { status: 'running', createdAt: secondsAfter(3_700), ...over });

  it('lies between its bounds, and above what is spent', () => {
    const attempts = [lost, running()];
    const { progressAfter: progress } = lost;
    const money = moneyOf({ run: RUN, attempts, progress, decided: decided(), now: at(4_000) });
    const { usd, finishAt, basis, lateChance } = known(money.expected);
    expect(basis).toBe('measured');
    expect(money.usd).toBeLessThan(usd.low);
    expect(usd.low).toBeLessThan(usd.expected);
    expect(usd.expected).toBeLessThan(usd.high);
    expect(finishAt.low < finishAt.expected && finishAt.expected < finishAt.high).toBe(true);
    expect(lateChance).toBe(0);
  });

  it('is unknown before anything says how much there is', () => {
    const { expectedSeconds: _, ...unknown } = input;
    const asked = { ...decided(), decision: { ...launchOf(), question: storedPart(unknown) } };
    const money = moneyOf({ run: RUN, attempts: [first()], decided: asked, now: at(60) });
    expect(money.expected).toBeUndefined();
    expect(moneyOf({ run: RUN, attempts: [first()], now: at(60) }).expected).toBeUndefined();
  });

  it('follows former runs before the first checkpoint', () => {
    const money = moneyOf({ run: RUN, attempts: [first()], decided: decided(), now: at(3_800) });
    expect(money.expected?.basis).toBe('declared');
  });

  it('goes on between two attempts', () => {
    const finish = (decision: StoredDecision) => {
      const asked = { attempt: 2, decision: { ...decision, question: storedPart(input) } };
      const { progressAfter: progress } = lost;
      const money = moneyOf({ run: RUN, attempts: [lost], progress, decided: asked, now: at(3_700) });
      return Date.parse(known(money.expected).finishAt.low);
    };
    expect(finish({ ...waitOf(), seconds: 7_200 } as StoredDecision)).toBeGreaterThan(
      finish(launchOf()) + 3_600_000,
    );
  });

  it('is unknown for a decision of another release', () => {
    const asked = { ...decided(), decision: { ...launchOf(), question: { version: 99 } } };
    const money = moneyOf({ run: RUN, attempts: [first()], decided: asked, now: at(3_800) });
    expect(money.expected).toBeUndefined();
  });
});
