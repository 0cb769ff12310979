/** A person hears of a budget that is nearly spent, and of a deadline that a run may miss. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { storedPart } from '@tidewheel/placement/choose.ts';
import type { Progress } from '@tidewheel/placement/records.ts';
import { describe, expect, it } from 'vitest';
import { watchLimits } from '../../../../functions/run/attempts/watch-limits.ts';
import { market, onDemand, question, vpc } from '../../../support/builders/placement.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../../support/builders/records.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryNotifier } from '../../../support/fakes/notifier.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';

const RUN = 'digits-000001';

/** Two nodes that train on demand since the close, for $0.60 an hour each. */
async function training(limits: object) {
  const clock = fakeClock(AT);
  const [store, notifier] = [memoryObjectStore(clock), memoryNotifier()];
  const deps = { ...memoryStores(), store, notifier, clock };
  const declaration = declarationOf('digits', {
    limits,
    compute: { instanceTypes: ['g5.xlarge'], nodes: 2, vpc, purchaseOption: 'on-demand' },
  });
  await deps.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await deps.runs.create(runOf('digits', 1));
  await deps.runs.closeBatch(runOf('digits', 1), { at: AT, declaration });
  const placement = placementOf({
    pool: { ...placementOf().pool, purchaseOption: 'on-demand' },
    onDemandHourlyUsd: 0.6,
    considered: [],
  });
  await deps.attempts.create(attemptOf(RUN, 1, { status: 'running', startedAt: AT, placement }));
  const prices = market({ onDemandPrices: [onDemand('g5.xlarge', 0.6)] });
  const asked = storedPart(question({ now: AT, expectedSeconds: undefined, market: prices }));
  await deps.placements.put(RUN, 1, { kind: 'launch', placement, question: asked });
  /** @returns the new notices of a look after so many seconds in all */
  const look = async (seconds: number, progress?: Progress) => {
    clock.advance(seconds - (clock.now().getTime() - Date.parse(AT)) / 1_000);
    if (progress !== undefined) {
      store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progress));
      store.put(`${bucketKeys.checkpoints('digits', RUN)}${progress.checkpoint}/COMPLETE.json`, '{}');
    }
    const before = notifier.notices.length;
    await watchLimits(deps, RUN);
    return notifier.notices.slice(before).map(({ notice }) => notice);
  };
  return { look, promises: async () => (await deps.runs.get(RUN))?.promises };
}

/** So many of 100 steps so far. */
const saved = (step: number, seconds: number): Progress =>
  progressOf(step, { trainingSeconds: seconds, updatedAt: secondsAfter(seconds) });

describe('a run', () => {
  const once = async (seconds: number, limits: object, progress?: Progress) =>
    (await training(limits)).look(seconds, progress);

  it('within its limits needs no warning', async () => {
    const progress = saved(10, 1_000);
    expect(await once(1_000, { budgetUsd: 1, deadlineHours: 4 }, progress)).toEqual([]);
    expect(await once(1_000, { deadlineHours: 1 })).toEqual([]);
    expect(await once(1_000, {}, progress)).toEqual([]);
  });

  it('that has spent 80 % needs one', async () => {
    expect(await once(2_400, { budgetUsd: 1 })).toEqual([
      { type: 'BudgetNearlySpent', costUsd: expect.closeTo(0.8), budgetUsd: 1 },
    ]);
    expect(await once(2_399, { budgetUsd: 1 })).toEqual([]);
  });

  it('that may just keep its deadline needs none', async () => {
    // It is expected to end a minute before.
    expect(await once(1_000, { deadlineHours: 10_060 / 3_600 }, saved(10, 1_000))).toEqual([]);
  });

  it('in danger is announced once, and its rescue', async () => {
    const { look } = await training({ deadlineHours: 2 });
    const [danger, ...others] = await look(1_000, saved(10, 1_000));
    expect(danger).toMatchObject({ type: 'DeadlineInDanger', deadlineAt: secondsAfter(7_200) });
    expect(danger?.type === 'DeadlineInDanger' && danger.expectedAt > secondsAfter(9_000)).toBe(true);
    expect(others).toEqual([]);
    expect(await look(1_100, saved(11, 1_100))).toEqual([]);
    expect((await look(2_000, saved(60, 2_000))).map(({ type }) => type)).toEqual(['DeadlineSafe']);
    expect(await look(2_100, saved(65, 2_100))).toEqual([]);
    expect((await look(6_000, saved(66, 6_000))).map(({ type }) => type)).toEqual(['DeadlineInDanger']);
  });
});

it('each quarter of the work keeps one forecast', async () => {
  const { look, promises } = await training({ deadlineHours: 8 });
  await look(500);
  expect(await promises()).toBeUndefined();
  for (const step of [10, 11, 26, 30, 80, 99]) await look(100 * step, saved(step, 100 * step));
  expect((await promises())?.map(({ share }) => share)).toEqual([0, 0.25, 0.75]);
  const [first] = (await promises()) ?? [];
  // The whole takes 10,000 s on two nodes for $0.60 an hour each.
  expect(first?.usd.expected).toBeCloseTo(3.33, 0);
  expect(first?.widths).toEqual({ end: 1, cost: 1 });
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
  const look = () => watchLimits(deps, RUN);
  await look();
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
