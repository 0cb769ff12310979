/**
 * Copies of a run's records in the bucket: the close of its batch, and each attempt before its job exists. A table that
 * was lost, or restored to an earlier time, is completed from them.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { pinned, pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { time } from '@tidewheel/kit/fields.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { kindOf, readVersioned, type StoredKind, valueOf } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { notifiedFolderSchema } from './batches.ts';
import {
  type AttemptRecord,
  attemptRecordSchema,
  type RunRecord,
  runRecordSchema,
  runRequestSchema,
} from './run-records.ts';
import type { Stores } from './stores.ts';

/** A copy of another version counts as none. */
const VERSION = 1;

/** What the close of a batch decided. */
const closeSchema = runRecordSchema
  .pick({ trigger: true, createdAt: true, retry: true, startedFrom: true })
  .extend({
    version: z.literal(VERSION),
    closedAt: time,
    declaration: pinned(pipelineSchema),
    /** Fingerprint of incoming/ at the close; absent if it was not listed. */
    seen: z.string().optional(),
    notified: notifiedFolderSchema.optional(),
    /** Fingerprint of the source and of what the declaration says of training; absent in older copies. */
    code: z.string().optional(),
    /** Whether these are new, so that the run trains without new data. */
    trainsCode: z.boolean().optional(),
    /** Without its parts, which the declaration has. */
    request: runRequestSchema.omit({ parts: true }).optional(),
    /** How much lay under incoming/, and whether S3 dates the arrival of each. Absent in copies of earlier releases. */
    look: z.object({ objects: z.int(), isDated: z.boolean() }).optional(),
  });
export type KeptClose = Omit<Readonly<z.output<typeof closeSchema>>, 'version'>;

interface RunReference {
  readonly pipeline: string;
  readonly runId: string;
}

export const keepClose = (
  store: ObjectStore,
  { pipeline, runId, ...run }: RunReference & Pick<RunRecord, 'trigger' | 'createdAt'>,
  close: Omit<KeptClose, 'trigger' | 'createdAt'>,
): Promise<void> => {
  const { trigger, createdAt } = run;
  return write(store, bucketKeys.closeRecord(pipeline, runId), { trigger, createdAt, ...close });
};

/** For a run whose declaration a person changed. Without a copy there is nothing to change. */
export async function keepChangedClose(
  store: ObjectStore,
  run: RunReference & Pick<RunRecord, 'trigger' | 'createdAt'>,
  change: Pick<KeptClose, 'declaration' | 'retry'>,
): Promise<void> {
  const close = await keptClose(store, run);
  if (close !== undefined) await keepClose(store, run, { ...close, ...change });
}

/** @returns undefined if the batch was not closed, or its copy cannot be read */
export async function keptClose(
  store: ObjectStore,
  { pipeline, runId }: RunReference,
): Promise<KeptClose | undefined> {
  const stored = await store.readText(bucketKeys.closeRecord(pipeline, runId));
  return parsed(kindOf(closeSchema), stored?.text);
}

const attemptSchema = attemptRecordSchema
  .pick({
    attempt: true,
    jobName: true,
    placement: true,
    launcher: true,
    taskToken: true,
    createdAt: true,
    progressBefore: true,
  })
  .extend({ version: z.literal(VERSION) });

export const keepAttempt = (store: ObjectStore, record: AttemptRecord): Promise<void> => {
  const { runId, pipeline, attempt, jobName, launcher, taskToken, createdAt, progressBefore } = record;
  return write(store, bucketKeys.attemptRecord(pipeline, runId, attempt), {
    attempt,
    jobName,
    placement: record.placement,
    launcher,
    taskToken,
    createdAt,
    progressBefore,
  });
};

/** Oldest first. @param at the time of the restoration */
async function keptAttempts(
  store: ObjectStore,
  { pipeline, runId }: RunReference,
  { at, except }: { readonly at: string; readonly except: ReadonlySet<number> },
): Promise<AttemptRecord[]> {
  const missing = (await attemptKeys(store, { pipeline, runId })).filter(
    ({ attempt }) => !except.has(attempt),
  );
  const found: AttemptRecord[] = [];
  for (const { key } of missing) {
    const kept = parsed(kindOf(attemptSchema), (await store.readText(key))?.text);
    if (kept === undefined) continue;
    const { version: _, ...record } = kept;
    found.push({ ...record, runId, pipeline, status: 'starting', updatedAt: at, restoredAt: at });
  }
  // What one attempt began with is what the one before it had saved.
  return found.map((record, index) => {
    const next = found[index + 1];
    return next?.attempt === record.attempt + 1 && next.progressBefore !== undefined
      ? { ...record, progressAfter: next.progressBefore }
      : record;
  });
}

async function attemptKeys(
  store: ObjectStore,
  { pipeline, runId }: RunReference,
): Promise<{ readonly key: string; readonly attempt: number }[]> {
  const found: { key: string; attempt: number }[] = [];
  for await (const { key } of store.list(bucketKeys.attemptRecords(pipeline, runId))) {
    const attempt = Number(/(\d+)\.json$/.exec(key)?.[1]);
    // A job may write below any folder called checkpoints: IAM's "*" crosses slashes.
    if (key === bucketKeys.attemptRecord(pipeline, runId, attempt)) found.push({ key, attempt });
  }
  return found.sort((a, b) => a.attempt - b.attempt);
}

const write = (store: ObjectStore, key: string, document: object): Promise<void> =>
  store.writeText(key, `${JSON.stringify({ version: VERSION, ...document }, null, 2)}\n`);

const parsed = <Schema extends z.ZodType>(
  kind: StoredKind<Schema>,
  text = '',
): z.output<Schema> | undefined => valueOf(readVersioned(kind, parseJson(text)));

// Attempts whose records were lost come back from their copies, so that attempts are numbered on and all costs count.

export interface RestoreDeps extends Pick<Stores, 'attempts' | 'timeline'> {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** @returns all attempts of the run, oldest first */
export async function restoreAttempts(
  deps: RestoreDeps,
  run: Pick<RunRecord, 'runId' | 'pipeline'>,
): Promise<AttemptRecord[]> {
  const known = await deps.attempts.list(run.runId);
  const at = deps.clock.now().toISOString();
  const except = new Set(known.map(({ attempt }) => attempt));
  const lost = await keptAttempts(deps.store, run, { at, except });
  if (lost.length === 0) return known;
  for (const attempt of lost) await deps.attempts.create(attempt);
  await deps.timeline.add(run.runId, {
    id: `restored-${at}`,
    at,
    kind: 'RecordsRestored',
    text: `the table had lost ${lost.map(({ attempt }) => `attempt ${attempt}`).join(', ')}; the run continues from the copies in the bucket`,
  });
  return deps.attempts.list(run.runId);
}
