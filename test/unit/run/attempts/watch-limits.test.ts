/** A person hears of a budget that is nearly spent, and of a deadline that a run may miss. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Progress } from '@tidewheel/placement/records.ts';
import { describe, expect, it } from 'vitest';
import { watchLimits } from '../../../../functions/run/attempts/watch-limits.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../../support/builders/records.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryNotifier } from '../../../support/fakes/notifier.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';

const RUN = 'digits-000001';

/** The notices of a look at a run that trains for so long: two nodes for $0.60 an hour each. */
async function noticesAfter(seconds: number, limits: object, progress?: Progress) {
  const clock = fakeClock(AT);
  const [store, notifier] = [memoryObjectStore(clock), memoryNotifier()];
  const deps = { ...memoryStores(), store, notifier, clock };
  await deps.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await deps.runs.create(runOf('digits', 1));
  await deps.runs.closeBatch(runOf('digits', 1), {
    at: AT,
    declaration: declarationOf('digits', { limits }),
  });
  await deps.attempts.create(attemptOf(RUN, 1, { status: 'running', startedAt: AT }));
  clock.advance(seconds);
  if (progress !== undefined) {
    store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progress));
    store.put(`${bucketKeys.checkpoints('digits', RUN)}${progress.checkpoint}/COMPLETE.json`, '{}');
  }
  expect(await watchLimits(deps)).toEqual([]);
  return notifier.notices.map(({ notice }) => notice);
}

describe('a run', () => {
  // Of 100 steps, 10 in 1,000 s.
  const progress = progressOf(10, { trainingSeconds: 1_000, updatedAt: secondsAfter(1_000) });

  it('within its limits needs no warning', async () => {
    expect(await noticesAfter(1_000, { budgetUsd: 1, deadlineHours: 4 }, progress)).toEqual([]);
    expect(await noticesAfter(1_000, { deadlineHours: 1 })).toEqual([]);
    expect(await noticesAfter(1_000, {}, progress)).toEqual([]);
  });

  it('that has spent 80 % needs one', async () => {
    expect(await noticesAfter(2_400, { budgetUsd: 1 })).toEqual([
      { type: 'BudgetNearlySpent', costUsd: expect.closeTo(0.8), budgetUsd: 1 },
    ]);
    expect(await noticesAfter(2_399, { budgetUsd: 1 })).toEqual([]);
  });

  it('that is expected too late needs one', async () => {
    const [notice] = await noticesAfter(1_000, { deadlineHours: 2 }, progress);
    expect(notice).toMatchObject({ type: 'DeadlineInDanger', deadlineAt: secondsAfter(7_200) });
    expect(notice?.type === 'DeadlineInDanger' && notice.expectedAt > secondsAfter(9_000)).toBe(true);
  });
});

it('every look together announces a warning once', async () => {
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
