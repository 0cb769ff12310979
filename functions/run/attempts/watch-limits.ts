/** Announces once that a run has spent most of its budget, and that it will probably miss its deadline. */

import type { Progress } from '@tidewheel/placement/records.ts';
import type { Notice } from '../../records/notices.ts';
import { readProgress } from '../../records/progress.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { deadlineAt } from './make-report.ts';
import { decisionOf, type Money, moneyOf } from './money.ts';
import type { WatchDeps } from './watch-attempt.ts';

/** Of the budget. Enough is left then to raise it before placement refuses the next attempt. */
const NEARLY = 0.8;

export type LimitDeps = WatchDeps & Pick<Stores, 'runs' | 'placements'>;

/** @param runId of a run that has an open attempt */
export async function watchLimits(deps: LimitDeps, runId: string): Promise<void> {
  const run = await deps.runs.get(runId);
  if (run?.declaration === undefined) return;
  const [attempts, progress] = await Promise.all([
    deps.attempts.list(runId),
    readProgress(deps.store, run.pipeline, runId),
  ]);
  const decided = await decisionOf(deps.placements, runId, attempts);
  const now = deps.clock.now();
  const money = moneyOf({ run, attempts, progress, decided, now });
  const said = (await deps.timeline.list(runId)).map(({ id }) => id);
  for (const warning of [budgetWarning(money), deadlineWarning(money, run, said, now)])
    if (warning !== undefined && !said.includes(warning.id)) await announce(deps, run, warning);
  await keepPromise(deps, run, { money, progress });
}

/** A promise for each quarter of the work, by which the pipeline's next runs correct theirs. */
async function keepPromise(
  { runs, clock }: LimitDeps,
  { runId, promises = [] }: RunRecord,
  { money: { expected }, progress }: { readonly money: Money; readonly progress: Progress | undefined },
): Promise<void> {
  if (expected === undefined) return;
  const { step = 0, totalSteps = 0 } = progress ?? {};
  const share = totalSteps > 0 ? Math.min(0.75, Math.floor((4 * step) / totalSteps) / 4) : 0;
  if (promises.some((each) => each.share >= share)) return;
  const { finishAt, usd, widths } = expected;
  const updatedAt = clock.now().toISOString();
  await runs.update(runId, { promises: [...promises, { share, finishAt, usd, widths }], updatedAt });
}

interface Warning {
  /** Names the limit's value, so that a changed limit is watched afresh. */
  readonly id: string;
  readonly notice: Extract<
    Notice,
    { readonly type: 'BudgetNearlySpent' | 'DeadlineInDanger' | 'DeadlineSafe' }
  >;
  readonly text: string;
}

function budgetWarning({ usd, budgetUsd }: Money): Warning | undefined {
  if (budgetUsd === undefined || usd < NEARLY * budgetUsd) return undefined;
  const text = `$${usd.toFixed(2)} of the budget of $${budgetUsd.toFixed(2)} are spent`;
  return { id: `budget-${budgetUsd}`, notice: { type: 'BudgetNearlySpent', costUsd: usd, budgetUsd }, text };
}

/**
 * A warning is given above the first chance of being late and withdrawn below the second. Above one half it would be
 * false in 4 % of the campaigns of `npm run bench:promise`.
 */
export const DANGER_CHANCE = 0.8;
const SAFE_CHANCE = 0.3;

/** Former runs may have had other lengths: they alone are no reason for a warning while half of the time is left. */
function isTelling({ basis }: NonNullable<Money['expected']>, run: RunRecord, now: Date): boolean {
  const [from, to] = [Date.parse(run.retry?.at ?? run.closedAt ?? ''), deadlineAt(run)?.getTime() ?? 0];
  return basis === 'measured' || now.getTime() - from > (to - from) / 2;
}

/** @param said ids of the timeline; each warning and each withdrawal has its number */
function deadlineWarning(
  { deadlineAt, expected }: Money,
  run: RunRecord,
  said: readonly string[],
  now: Date,
): Warning | undefined {
  const chance = expected?.lateChance;
  if (deadlineAt === undefined || expected === undefined || chance === undefined) return undefined;
  const idOf = (kind: string, number: number): string =>
    `${kind}-${deadlineAt}${number === 1 ? '' : `-${number}`}`;
  let number = 1;
  while (said.includes(idOf('deadline-safe', number))) number += 1;
  const isInDanger = said.includes(idOf('deadline', number));
  const expectedAt = expected.finishAt.expected;
  const percent = `${Math.round(chance * 100)} %`;
  if (!isInDanger && chance > DANGER_CHANCE && isTelling(expected, run, now))
    return {
      id: idOf('deadline', number),
      notice: { type: 'DeadlineInDanger', deadlineAt, expectedAt },
      text: `the run misses its deadline of ${deadlineAt} with a chance of ${percent}; it is expected to end at ${expectedAt}`,
    };
  if (isInDanger && chance < SAFE_CHANCE)
    return {
      id: idOf('deadline-safe', number),
      notice: { type: 'DeadlineSafe', deadlineAt, expectedAt },
      text: `the deadline of ${deadlineAt} is in reach again: the chance to miss it is ${percent}`,
    };
  return undefined;
}

/** The look repeats every few minutes. The entry follows the notice, so a death in between repeats the notice. */
async function announce(deps: LimitDeps, run: RunRecord, { id, notice, text }: Warning): Promise<void> {
  await deps.notifier.notify(run, notice);
  await deps.timeline.add(run.runId, { id, at: deps.clock.now().toISOString(), kind: notice.type, text });
}
