/** Announces once that a run has spent most of its budget, and that it may miss its deadline. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { Notice } from '../../records/notices.ts';
import type { Notifier } from '../../records/ports.ts';
import { readProgress } from '../../records/progress.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { type Money, moneyOf } from './money.ts';

/** Of the budget. Enough is left then to raise it before placement refuses the next attempt. */
const NEARLY = 0.8;

export interface LimitDeps extends Pick<Stores, 'runs' | 'attempts' | 'timeline'> {
  readonly store: ObjectStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/**
 * Looks at every run that has an open attempt. A failure at one run does not keep the others from being looked at.
 * @returns the failures, each with its run
 */
export async function watchLimits(deps: LimitDeps): Promise<string[]> {
  const open = await deps.attempts.listOpen();
  const failures: string[] = [];
  for (const runId of new Set(open.map((attempt) => attempt.runId))) {
    await watchRun(deps, runId).catch((error: unknown) => {
      failures.push(`limits of ${runId}: ${messageOf(error)}`);
    });
  }
  return failures;
}

async function watchRun(deps: LimitDeps, runId: string): Promise<void> {
  const run = await deps.runs.get(runId);
  if (run?.declaration === undefined) return;
  const [attempts, progress] = await Promise.all([
    deps.attempts.list(runId),
    readProgress(deps.store, run.pipeline, runId),
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

function limitWarnings({ usd, budgetUsd, deadlineAt, expected }: Money): Warning[] {
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
async function announce(deps: LimitDeps, run: RunRecord, { id, notice, text }: Warning): Promise<void> {
  if ((await deps.timeline.list(run.runId)).some((entry) => entry.id === id)) return;
  await deps.notifier.notify(run, notice);
  await deps.timeline.add(run.runId, { id, at: deps.clock.now().toISOString(), kind: notice.type, text });
}
