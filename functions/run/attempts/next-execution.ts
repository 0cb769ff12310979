/** A run outlives its executions: the next execution continues it from the records. */
import type { Clock } from '@tidewheel/kit/clock.ts';
import { executionName } from '../../records/batches.ts';
import type { Executions } from '../../records/ports.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';

export interface NextExecutionDeps extends Pick<Stores, 'runs' | 'timeline'> {
  readonly executions: Executions;
  readonly clock: Clock;
}

/**
 * Starts the next execution just before the current one ends. Safe to repeat.
 * @param input.execution name of the calling execution
 */
export async function startNextExecution(
  deps: NextExecutionDeps,
  input: { readonly runId: string; readonly execution: string },
): Promise<void> {
  const run = await deps.runs.get(input.runId);
  // The run has already left the calling execution: this call is a repeat.
  if (run === undefined || executionName(run.runId, run.execution) !== input.execution) return;
  await continueRun(deps, run);
}

/** The number is on record before the start, so two callers start one execution of the same name. */
export async function continueRun(deps: NextExecutionDeps, run: RunRecord): Promise<void> {
  const execution = run.execution + 1;
  const updatedAt = deps.clock.now().toISOString();
  const next = await deps.runs.update(run.runId, { execution, updatedAt });
  await deps.timeline.add(run.runId, {
    id: `execution-${execution}`,
    at: updatedAt,
    kind: 'Resumed',
    text: `the run continues in execution ${execution}`,
  });
  await deps.executions.start(next);
}
