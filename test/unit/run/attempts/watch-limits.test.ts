/** A person hears of a budget that is nearly spent, and of a deadline that a run may miss. */
import { describe, expect, it } from 'vitest';
import type { Money } from '../../../../functions/run/attempts/money.ts';
import { limitWarnings, watchLimits } from '../../../../functions/run/attempts/watch-limits.ts';
import { AT, attemptOf, declarationOf, runOf, secondsAfter } from '../../../support/builders/records.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryNotifier } from '../../../support/fakes/notifier.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';

const money = (over: Partial<Money>): Money => ({
  asOf: AT,
  usd: 1,
  usdPerSecond: 0,
  byPurchaseOption: [],
  lost: { seconds: 0, usd: 0 },
  onDemandUsd: 2,
  ...over,
});
const ends = (seconds: number): Money['expected'] => ({
  usd: { low: 1, expected: 2, high: 3 },
  finishAt: { low: AT, expected: secondsAfter(seconds), high: secondsAfter(2 * seconds) },
  onDemandUsd: 4,
  basis: 'measured',
});

describe('a run', () => {
  it('within its limits needs no warning', () => {
    const fine = money({ budgetUsd: 1.3, deadlineAt: secondsAfter(100), expected: ends(100) });
    expect(limitWarnings(fine)).toEqual([]);
    expect(limitWarnings(money({ expected: ends(100) }))).toEqual([]);
    expect(limitWarnings(money({ deadlineAt: AT }))).toEqual([]);
  });

  it('that has spent 80 % needs one', () => {
    expect(limitWarnings(money({ budgetUsd: 1.25 })).map(({ notice }) => notice)).toEqual([
      { type: 'BudgetNearlySpent', costUsd: 1, budgetUsd: 1.25 },
    ]);
  });

  it('that is expected too late needs one', () => {
    const late = money({ deadlineAt: secondsAfter(99), expected: ends(100) });
    expect(limitWarnings(late).map(({ notice }) => notice)).toEqual([
      { type: 'DeadlineInDanger', deadlineAt: secondsAfter(99), expectedAt: secondsAfter(100) },
    ]);
  });
});

it('every look together announces a warning once', async () => {
  const RUN = 'digits-000001';
  const clock = fakeClock(AT);
  const notifier = memoryNotifier();
  const deps = { ...memoryStores(), store: memoryObjectStore(clock), notifier, clock };
  await deps.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await deps.runs.create(runOf('digits', 1));
  const declaration = declarationOf('digits', { limits: { budgetUsd: 1 } });
  await deps.runs.closeBatch(runOf('digits', 1), { at: AT, declaration });
  await deps.attempts.create(attemptOf(RUN, 1, { status: 'running', startedAt: AT }));
  const look = () => watchLimits(deps);
  expect(await look()).toEqual([]);
  expect(notifier.notices).toEqual([]);
  // Two nodes for $0.60 an hour each.
  clock.advance(2_500);
  await look();
  await look();
  expect(notifier.notices.map(({ notice }) => notice.type)).toEqual(['BudgetNearlySpent']);
  expect((await deps.timeline.list(RUN)).map(({ id, text }) => [id, text])).toEqual([
    ['budget-1', '$0.83 of the budget of $1.00 are spent'],
  ]);
});
