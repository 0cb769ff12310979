/** A table that was lost, or restored to an earlier time, is completed from what the bucket keeps of each run. */

import { bucketKeys, parseRunId, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import * as z from 'zod';
import { notifiedSinceOf, type PipelineRecord } from '../../records/batches.ts';
import { type EndedReport, readEnded, runResultOf } from '../../records/ended.ts';
import type { Executions } from '../../records/ports.ts';
import { type KeptClose, keptClose, restoreAttempts } from '../../records/record-copies.ts';
import type { Retry, RunRecord } from '../../records/run-records.ts';
import type { FirstBatch, Stores } from '../../records/stores.ts';
import { closeAgain } from './close-again.ts';

export interface RestoreRunsDeps
  extends Pick<Stores, 'pipelines' | 'runs' | 'attempts' | 'timeline' | 'models'> {
  readonly store: ObjectStore;
  readonly executions: Executions;
  readonly clock: Clock;
}

/** Runs before these have ended: a run waits with its packing until the one before it has sealed. */
const NEWEST_RUNS = 20;

interface RunFolder {
  readonly pipeline: string;
  readonly runId: string;
  readonly batch: number;
}

/** Restores open runs without a record, all ended ones if the oldest has none, and the pipeline's own record. */
export async function restoreRuns(deps: RestoreRunsDeps, name: string): Promise<PipelineRecord> {
  const known = await deps.pipelines.get(name);
  const folders = await foldersOf(deps.store, name);
  // Oldest first: the record of the pipeline closes one batch after the other. One that cannot be read is not lost.
  for (const folder of folders.slice(-NEWEST_RUNS))
    await restoreRun(deps, folder, known?.openBatch ?? Number.POSITIVE_INFINITY).catch(noneIfUnreadable);
  const restored =
    (await deps.pipelines.get(name)) ??
    (await deps.pipelines.ensure(name, await firstBatchOf(deps, folders.at(-1))));
  await restoreEnded(
    deps,
    folders.filter(({ batch }) => batch < restored.openBatch),
  );
  return restored;
}

async function foldersOf(store: ObjectStore, pipeline: string): Promise<RunFolder[]> {
  const names = (await store.listFolders(bucketKeys.runs(pipeline))).map(parseRunId);
  // A probe is not restored: it is short, and nothing waits for it.
  const batches = names.flatMap((name) =>
    name?.pipeline === pipeline && !name.isProbe ? [name.number] : [],
  );
  return batches.sort((a, b) => a - b).map((batch) => ({ pipeline, batch, runId: runIdOf(pipeline, batch) }));
}

/** @param openBatch of the pipeline's record, beyond every run where there is none */
async function restoreRun(deps: RestoreRunsDeps, folder: RunFolder, openBatch: number): Promise<void> {
  const known = await deps.runs.get(folder.runId);
  if (known?.closedAt !== undefined) return;
  const close = await keptClose(deps.store, folder);
  if (close === undefined) return;
  const isOpen = folder.batch >= openBatch;
  // A run that has ended is restored only where its number would be given again.
  if (!isOpen && (await isReported(deps.store, folder, close.retry))) return;
  const run = known ?? newRecord(deps, folder, close, isOpen);
  if (known === undefined && (await deps.runs.create(run)) === 'exists') return;
  if (isOpen) await closeAgain(deps, run, close);
  await restoreAttempts(deps, folder);
  if (known === undefined) await continueExecutions(deps, run);
}

const AT_ONCE = 16;

/** The oldest is restored last: while it is missing, a restoration may have died before others. */
async function restoreEnded(deps: RestoreRunsDeps, folders: readonly RunFolder[]): Promise<void> {
  const [oldest, ...others] = folders;
  if (oldest === undefined || (await isOnRecord(deps, oldest))) return;
  // The report of a later release is read again with each sweep, until a release reads it.
  const restore = (folder: RunFolder) => restoreReported(deps, folder).catch(noneIfUnreadable);
  await eachLimited(others.toReversed(), AT_ONCE, restore);
  await restore(oldest);
}

async function isOnRecord({ runs }: RestoreRunsDeps, { runId }: RunFolder): Promise<boolean> {
  try {
    return (await runs.get(runId)) !== undefined;
  } catch (error: unknown) {
    noneIfUnreadable(error);
    return true;
  }
}

/** What neither the report nor the copy of its close says stays lost: the timeline, attempts and scores. */
async function restoreReported(deps: RestoreRunsDeps, folder: RunFolder): Promise<void> {
  if (await isOnRecord(deps, folder)) return;
  const { runs, store, clock } = deps;
  const [close, report] = await Promise.all([keptClose(store, folder), readEnded(store, folder)]);
  await runs.create({
    ...folder,
    trigger: 'arrival',
    execution: 1,
    ...(report === undefined ? unreported(clock.now().toISOString()) : ofReport(report)),
    ...(close && ofClose(close)),
  });
}

const ofReport = (report: EndedReport) => ({
  createdAt: report.startedAt,
  updatedAt: report.finishedAt,
  closedAt: report.startedAt,
  status: report.status,
  failure: report.failure,
  modelUri: report.modelUri,
  generations: report.generations,
  reads: report.reads,
  result: runResultOf(report),
});

const unreported = (at: string) => ({
  createdAt: at,
  updatedAt: at,
  closedAt: at,
  status: 'failed' as const,
  failure: 'its record was lost with the table, and the bucket has no report of it that can be read',
});

const ofClose = ({ trigger, createdAt, closedAt, declaration, request, retry, startedFrom }: KeptClose) => ({
  trigger,
  createdAt,
  closedAt,
  declaration,
  request,
  retry,
  startedFrom,
});

function newRecord(
  { clock }: RestoreRunsDeps,
  folder: RunFolder,
  close: KeptClose,
  isOpen: boolean,
): RunRecord {
  const { trigger, createdAt, request, ...closed } = ofClose(close);
  const updatedAt = clock.now().toISOString();
  const common = { ...folder, trigger, execution: 1, createdAt, updatedAt, request };
  if (isOpen) return { ...common, status: 'settling' };
  const restored = { ...common, ...closed, notifiedSince: notifiedSinceOf(close) };
  return close.retry === undefined
    ? { ...restored, status: 'packing', source: request?.source }
    : { ...restored, status: 'placing' };
}

/** An execution that still runs goes on: it finds the run's record again. The names of ended ones are taken. */
async function continueExecutions(
  { runs, executions, clock }: RestoreRunsDeps,
  first: RunRecord,
): Promise<void> {
  let run = first;
  while ((await executions.start(run)) === 'closed') {
    const updatedAt = clock.now().toISOString();
    run = await runs.update(run.runId, { execution: run.execution + 1, updatedAt });
  }
}

/** Where a pipeline's record begins that has none: behind the newest run, or with that run if it was not closed. */
async function firstBatchOf(
  { store, runs, clock }: RestoreRunsDeps,
  newest: RunFolder | undefined,
): Promise<FirstBatch> {
  const at = clock.now().toISOString();
  if (newest === undefined) return { firstBatch: 1, at };
  const close = await keptClose(store, newest);
  const { closedAt, seen, notified } = close ?? {};
  const isOver =
    close !== undefined ||
    (await runs.get(newest.runId))?.closedAt !== undefined ||
    (await isReported(store, newest));
  return { firstBatch: isOver ? newest.batch + 1 : newest.batch, at, closedAt, seen, notified };
}

const retried = z.object({ retry: z.object({ number: z.int() }) });

/** The report of an earlier end says nothing of a run that was opened again. */
async function isReported(
  store: ObjectStore,
  { pipeline, runId }: RunFolder,
  retry?: Retry,
): Promise<boolean> {
  const report = await store.readText(bucketKeys.report(pipeline, runId));
  if (report === undefined || retry === undefined) return report !== undefined;
  // Looking again at a run whose report is damaged loses nothing.
  return retried.safeParse(parseJson(report.text)).data?.retry.number === retry.number;
}
