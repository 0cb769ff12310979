/** Announces once that a run has spent most of its budget, and that it may miss its deadline. */
import { readProgress } from '../../runs/progress.ts';
import type { AttemptRecord, RunRecord } from '../../runs/run-records.ts';
import type { Stores } from '../../runs/stores.ts';
import type { Notice } from '../../shared/ports.ts';
import { type Money, moneyOf } from '../outlook/money.ts';
import type { WatchDeps } from './training-since.ts';

/** Of the budget. Enough is left then to raise it before placement refuses the next attempt. */
const NEARLY = 0.8;

export async function watchLimits(
  deps: WatchDeps & Pick<Stores, 'runs'>,
  { runId, pipeline }: Pick<AttemptRecord, 'runId' | 'pipeline'>,
): Promise<void> {
  const run = await deps.runs.get(runId);
  if (run?.declaration === undefined) return;
  const [attempts, progress] = await Promise.all([
    deps.attempts.list(runId),
    readProgress(deps.store, pipeline, runId),
  ]);
  for (const warning of limitWarnings(moneyOf({ run, attempts, progress, now: deps.clock.now() })))
    await announce(deps, run, warning);
}

interface Warning {
  /** Names the limit's value, so that a changed limit is watched afresh. */
  readonly id: string;
  readonly notice: Extract<Notice, { readonly type: 'BudgetNearlySpent' | 'DeadlineInDanger' }>;
  readonly text: string;
}

export function limitWarnings({ usd, budgetUsd, deadlineAt, expected }: Money): Warning[] {
  const warnings: Warning[] = [];
  if (budgetUsd !== undefined && usd >= NEARLY * budgetUsd)
    warnings.push({
      id: `budget-${budgetUsd}`,
      notice: { type: 'BudgetNearlySpent', costUsd: usd, budgetUsd },
      text: `$${usd.toFixed(2)} of the budget of $${budgetUsd.toFixed(2)} are spent`,
    });
  const expectedAt = expected?.finishAt.expected;
  if (deadlineAt !== undefined && expectedAt !== undefined && expectedAt > deadlineAt)
    warnings.push({
      id: `deadline-${deadlineAt}`,
      notice: { type: 'DeadlineInDanger', deadlineAt, expectedAt },
      text: `the run is expected to end at ${expectedAt}, after its deadline of ${deadlineAt}`,
    });
  return warnings;
}

/** The look repeats every few minutes. The entry follows the notice, so a death in between repeats the notice. */
async function announce(deps: WatchDeps, run: RunRecord, { id, notice, text }: Warning): Promise<void> {
  if ((await deps.timeline.list(run.runId)).some((entry) => entry.id === id)) return;
  await deps.notifier.notify(run, notice);
  await deps.timeline.add(run.runId, { id, at: deps.clock.now().toISOString(), kind: notice.type, text });
}
