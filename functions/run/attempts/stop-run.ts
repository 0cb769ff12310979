/**
 * A person stops a run. The request is recorded first, and every later look at the run honours it: `settle` closes the
 * batch without packing, `launch` starts no job, each look at a job stops it, and `judge` ends the run. So the rest only
 * saves the time that the execution would wait. `reconcile` repeats it.
 */

import { RunNotFoundError } from '@tidewheel/kit/errors.ts';
import { executionName } from '../../records/batches.ts';
import { FINISHED, type RunRecord, type StopMode } from '../../records/run-records.ts';
import { continueRun, type NextExecutionDeps } from './next-execution.ts';

export interface StopQuestion {
  readonly runId: string;
  readonly mode: StopMode;
  readonly requestedBy: string;
}

/**
 * Idempotent.
 * @returns the run, without a stop if it had ended before
 * @throws RunNotFoundError
 */
export async function requestStop(
  deps: NextExecutionDeps,
  { runId, mode, requestedBy }: StopQuestion,
): Promise<RunRecord> {
  const known = await deps.runs.get(runId);
  if (known === undefined) throw new RunNotFoundError(runId);
  const at = deps.clock.now().toISOString();
  const run = await deps.runs.requestStop(runId, { mode, requestedBy, at });
  if (run.stop === undefined || FINISHED.includes(run.status)) return run;
  await deps.timeline.add(runId, {
    id: `stop-${run.stop.mode}-${run.retry?.number ?? 0}`,
    at: run.stop.at,
    kind: 'StopRequested',
    text: `stop ${MODES[run.stop.mode]}, requested by ${run.stop.requestedBy}`,
  });
  await endWaiting(deps, run);
  return run;
}

const MODES: Readonly<Record<StopMode, string>> = { afterSave: 'after a save', now: 'now' };

/**
 * Ends the execution in which the stop was requested, wherever it waits, and starts the next one, which begins with the
 * stop. A run that packs goes on until its seal: a function of an ended execution may still work, and it must not seal
 * what the next run packs again.
 */
export async function endWaiting(deps: NextExecutionDeps, run: RunRecord): Promise<void> {
  if (run.stop === undefined || run.execution !== run.stop.execution || run.status === 'packing') return;
  await deps.executions.stop(executionName(run.runId, run.execution));
  await continueRun(deps, run);
}
