/**
 * Deletes what finished runs no longer need, by the retention of their declarations. A pass may die at any line: the next
 * one lists again. A part counts as expired when every object of it was deleted.
 */

import { bucketKeys, parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { type Retention, retentionSchema } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { eachItem } from '@tidewheel/kit/each-item.ts';
import type { Unreadable } from '@tidewheel/kit/errors.ts';
import { type BlobStore, type KeyFailure, type ListedBlob, listPages } from '@tidewheel/packing/store.ts';
import { executionName } from '../../records/batches.ts';
import type { Executions } from '../../records/ports.ts';
import { EXPIRING, type Expiring, type RunRecord } from '../../records/run-records.ts';
import type { RunStore, Tell } from '../../records/stores.ts';

export interface ExpiryDeps {
  readonly runs: RunStore;
  readonly store: BlobStore;
  readonly executions: Pick<Executions, 'status'>;
  readonly clock: Clock;
  /** The rest waits for the next pass. */
  readonly isTimeUp: () => boolean;
  /** Rejects when a run takes too long. Absent: no limit. */
  readonly withinLimit?: ((work: Promise<unknown>) => Promise<unknown>) | undefined;
}

interface Tally {
  /** Parts of runs that were deleted whole, such as `digits-000001 work`. */
  readonly expired: string[];
  readonly failures: string[];
  objects: number;
  bytes: number;
}

export async function expireRuns(deps: ExpiryDeps): Promise<Readonly<Tally>> {
  const tally: Tally = { expired: [], failures: [], objects: 0, bytes: 0 };
  const tell: Tell = ({ why }) => {
    tally.failures.push(why);
  };
  await eachItem(
    await deps.runs.listKept(tell),
    ({ runId }) => runId,
    (run) => expireRun(deps, run, tally),
    { ...deps, now: deps.clock.now(), failures: tally.failures },
  );
  return tally;
}

async function expireRun(deps: ExpiryDeps, run: RunRecord, tally: Tally): Promise<void> {
  const { due, before, isLast } = expiryOf(run, deps.clock.now());
  if (due.length === 0 && !isLast) return;
  // After its report a run may still delete what it packed.
  if ((await deps.executions.status(executionName(run.runId, run.execution))) === 'running') return;
  const expired: Expiring[] = [...(run.expired ?? [])];
  for (const part of due) {
    if (!(await isDeleted(deps, { run, part, before: before[part] }, tally))) continue;
    expired.push(part);
    tally.expired.push(`${run.runId} ${part}`);
  }
  const isComplete = isLast && due.every((part) => expired.includes(part));
  if (!isComplete && expired.length === (run.expired?.length ?? 0)) return;
  await deps.runs.setExpired(run.runId, { expired, isComplete });
}

interface Part {
  readonly run: RunRecord;
  readonly part: Expiring;
  readonly before: Date;
}

/** @returns whether nothing is left of the part */
async function isDeleted(deps: ExpiryDeps, { run, part, before }: Part, tally: Tally): Promise<boolean> {
  switch (part) {
    case 'work':
      return areDeleted(deps, await workOf(deps.store, run), { run, before, tally });
    case 'checkpoints':
      return areDeleted(deps, [bucketKeys.checkpoints(run.pipeline, run.runId)], { run, before, tally });
    case 'source':
      if (run.source === undefined) return true;
      if (await mayBePinned(deps, run)) return false;
      if (await isLeftToOther(deps, run)) return true;
      return areDeleted(deps, [bucketKeys.packedSource(run.pipeline, run.source)], { run, before, tally });
  }
}

/** An unfinished run may be about to pin the source, whatever its record says; one that cannot be read may have done so. */
async function mayBePinned({ runs }: ExpiryDeps, { pipeline }: RunRecord): Promise<boolean> {
  const unreadable: Unreadable[] = [];
  const tell: Tell = (each) => {
    unreadable.push(each);
  };
  const open = await runs.listOpen(tell);
  await runs.listKept(tell);
  return [...open, ...unreadable.map(({ id }) => parseRunId(id))].some((run) => run?.pipeline === pipeline);
}

/** Whether another run deletes the source: one that keeps it longer or, of those that are due, the last by name. */
async function isLeftToOther({ runs, clock }: ExpiryDeps, run: RunRecord): Promise<boolean> {
  const now = clock.now();
  return (await runs.listKept()).some(
    (other) =>
      other.runId !== run.runId &&
      other.pipeline === run.pipeline &&
      other.source === run.source &&
      other.expired?.includes('source') !== true &&
      (other.runId > run.runId || !expiryOf(other, now).due.includes('source')),
  );
}

/** Prefixes of the run's own work, of what it drew, and of the compactions that are named after its batch. */
async function workOf(store: BlobStore, { pipeline, runId }: RunRecord): Promise<string[]> {
  const compactions: string[] = [];
  const named = `${bucketKeys.runs(pipeline)}${runId}-`;
  for await (const page of listPages(store, named, { delimiter: '/' })) compactions.push(...page.prefixes);
  return [
    bucketKeys.plan(pipeline, runId),
    bucketKeys.map(pipeline, runId),
    bucketKeys.reads(pipeline, runId),
    bucketKeys.runFiles(pipeline, runId),
    // Without its records a shard is joined again.
    ...compactions,
    bucketKeys.drawn(pipeline, runId),
  ];
}

async function areDeleted(
  { store, isTimeUp }: ExpiryDeps,
  prefixes: readonly string[],
  { run, before, tally }: Omit<Part, 'part'> & { readonly tally: Tally },
): Promise<boolean> {
  let isWhole = true;
  for (const prefix of prefixes)
    for await (const { objects: listed } of listPages(store, prefix)) {
      if (isTimeUp()) return false;
      // The model of a run whose evaluation was lost lies among its checkpoints.
      const objects = listed.filter(({ key }) => run.modelUri?.endsWith(`/${key}`) !== true);
      const old = objects.filter(({ lastModified }) => new Date(lastModified) < before);
      if (old.length < objects.length) isWhole = false;
      const failures = await deleteSome(store, old, tally);
      if (failures.length > 0) isWhole = false;
    }
  return isWhole;
}

async function deleteSome(
  store: BlobStore,
  objects: readonly ListedBlob[],
  tally: Tally,
): Promise<readonly KeyFailure[]> {
  const failures = await store.deleteMany(objects.map(({ key }) => key));
  tally.failures.push(...failures.map(({ key, code, message }) => `${key}: ${code} ${message}`.trimEnd()));
  tally.objects += objects.length - failures.length;
  tally.bytes += objects.reduce((sum, { size }) => sum + size, 0);
  return failures;
}

const DAY_MILLISECONDS = 86_400_000;

interface Expiry {
  /** Expired and not yet noted as deleted. */
  readonly due: readonly Expiring[];
  /** Objects that changed later are kept, whatever the record says. */
  readonly before: Readonly<Record<Expiring, Date>>;
  /** Whether nothing is left to expire, now or later, once the due parts are deleted. */
  readonly isLast: boolean;
}

/** A run's report, models and generation never expire. @param run a finished run */
function expiryOf(run: RunRecord, now: Date): Expiry {
  // A run may fail before its declaration is pinned.
  const retention = run.declaration?.retention ?? retentionSchema.parse({});
  const before = (part: Expiring): Date =>
    part === 'checkpoints' && isDeletionAsked(run)
      ? now
      : daysBefore(now, daysOf(part, run.status, retention));
  const left = EXPIRING.filter((part) => run.expired?.includes(part) !== true);
  const due = left.filter((part) => new Date(run.updatedAt) < before(part));
  return {
    due,
    before: { work: before('work'), checkpoints: before('checkpoints'), source: before('source') },
    isLast: left.every((part) => due.includes(part) || daysOf(part, run.status, retention) === 'forever'),
  };
}

/** A request that a retry has overtaken counts for nothing: that run's checkpoints are younger. */
const isDeletionAsked = ({ checkpointDeletion, updatedAt }: RunRecord): boolean =>
  checkpointDeletion !== undefined && checkpointDeletion.at >= updatedAt;

function daysOf(part: Expiring, status: RunRecord['status'], retention: Retention): Retention['workDays'] {
  switch (part) {
    case 'work':
      return retention.workDays;
    case 'checkpoints':
      return status === 'succeeded' ? retention.checkpointDays : retention.failedCheckpointDays;
    case 'source':
      return retention.sourceDays;
  }
}

const daysBefore = (now: Date, days: Retention['workDays']): Date =>
  new Date(days === 'forever' ? 0 : now.getTime() - days * DAY_MILLISECONDS);
