/**
 * A person has an ended run go on, from its newest checkpoint and with what the change of its declaration says. The
 * run's attempts, costs and curves continue. The record is opened first: it names the next execution, which `reconcile`
 * starts where this process dies.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { keepChangedClose } from '../../records/record-copies.ts';
import { FINISHED, type Retry, type RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import type { NextExecutionDeps } from './next-execution.ts';

export interface RetryDeps extends NextExecutionDeps, Pick<Stores, 'attempts'> {
  readonly store: ObjectStore;
}

export interface RetryChange {
  readonly declaration: Pipeline;
  readonly requestedBy: string;
  /** Names of the changed fields. Their values may be secret. */
  readonly changed: readonly string[];
  /** current: the source as it is now. */
  readonly source: 'pinned' | 'current';
}

/** @returns why the run cannot go on, or undefined */
export async function whyNoRetry(
  deps: Pick<RetryDeps, 'attempts'>,
  run: RunRecord,
): Promise<string | undefined> {
  const { runId, pipeline, status } = run;
  const start = `start a new run (POST /pipelines/${pipeline}/runs)`;
  const again = `run it again (POST /pipelines/${pipeline}/runs with { "again": "${runId}" })`;
  if (!FINISHED.includes(status)) return whyOpen(run);
  if (status === 'succeeded' || status === 'empty')
    return `${runId} ended as ${status}: ${status === 'empty' ? start : again}`;
  const hasPacked = run.sealedAt !== undefined || (await deps.attempts.list(runId)).length > 0;
  return hasPacked && run.declaration !== undefined
    ? undefined
    : `${runId} ended before its data was packed: ${start}, which packs the same arrivals`;
}

const whyOpen = ({ runId, status, stop }: RunRecord): string =>
  stop === undefined
    ? `${runId} is ${status}: stop it first (POST /runs/${runId}/stop), or wait for its end`
    : `${runId} is being stopped: make the same call after its end`;

/**
 * @param run ended, as it was read
 * @returns the open run; undefined if the run has changed since
 */
export async function reopenRun(
  deps: RetryDeps,
  run: RunRecord,
  { declaration, requestedBy, changed, source }: RetryChange,
): Promise<RunRecord | undefined> {
  const { runId, pipeline } = run;
  const at = deps.clock.now().toISOString();
  const attempts = (await deps.attempts.list(runId)).length;
  const retry: Retry = { number: (run.retry?.number ?? 0) + 1, at, requestedBy, attempts };
  // First: an execution that finds the run open pins the source as it is then.
  if (source === 'current') await deps.store.delete(bucketKeys.pinnedSource(pipeline, runId));
  const opened = await deps.runs.reopen(run, {
    retry,
    declaration,
    source: source === 'pinned' ? run.source : undefined,
    git: source === 'pinned' ? run.git : undefined,
    ...(changed.some((field) => field.startsWith('dataset.')) && {
      generations: undefined,
      reads: undefined,
    }),
  });
  if (opened !== undefined) await continueRetry(deps, opened, changed);
  return opened;
}

/** Does the rest for an open run, also where the process that opened it has died. */
export async function continueRetry(
  deps: RetryDeps,
  run: RunRecord,
  changed: readonly string[],
): Promise<void> {
  const { runId, retry, declaration } = run;
  if (retry === undefined || declaration === undefined) return;
  await keepChangedClose(deps.store, run, { retry, declaration });
  const fields = changed.length === 0 ? '' : `, with another ${changed.join(', ')}`;
  await deps.timeline.add(runId, {
    id: `retry-${retry.number}`,
    at: retry.at,
    kind: 'RetryRequested',
    text: `retry requested by ${retry.requestedBy}${fields}`,
  });
  await deps.executions.start(run);
}

export const isOpenAgain = ({ status, retry }: RunRecord): boolean =>
  retry !== undefined && !FINISHED.includes(status);
