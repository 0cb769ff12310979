/**
 * Copies of a run's records in the bucket: the close of its batch, and each attempt before its job exists. A table that
 * was lost, or restored to an earlier time, is completed from them.
 */
import * as z from 'zod';
import { LAUNCHERS } from '../pipeline/launchers.ts';
import { type Pipeline, pipelineSchema } from '../pipeline/pipeline.ts';
import { bucketKeys } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { NotifiedFolder } from './batches.ts';
import { progressSchema } from './progress.ts';
import type { AttemptRecord, Retry, RunRecord, RunRequest } from './run-records.ts';

/** A copy of another version counts as none. */
const VERSION = 1;

const time = z.iso.datetime();

const closeSchema = z.object({
  version: z.literal(VERSION),
  trigger: z.enum(['arrival', 'schedule', 'api']),
  createdAt: time,
  closedAt: time,
  declaration: pipelineSchema,
  /** Fingerprint of incoming/ at the close; absent if it was not listed. */
  seen: z.string().optional(),
  notified: z.object({ since: time, listedAt: time, closedAt: time.optional() }).optional(),
  code: z.string().optional(),
  trainsCode: z.boolean().optional(),
  retry: z.object({ number: z.int(), at: time, requestedBy: z.string(), attempts: z.int() }).optional(),
  request: z
    .object({
      at: time,
      requestedBy: z.string(),
      tokens: z.array(z.string()),
      changed: z.array(z.string()),
      again: z.string().optional(),
      source: z.string().optional(),
    })
    .optional(),
  look: z.object({ objects: z.int(), isDated: z.boolean() }).optional(),
});

/** What the close of a batch decided. */
export type KeptClose = Pick<RunRecord, 'trigger' | 'createdAt'> & {
  readonly closedAt: string;
  readonly declaration: Pipeline;
  readonly seen?: string | undefined;
  readonly notified?: NotifiedFolder | undefined;
  /** Fingerprint of the source and of what the declaration says of training; absent in older copies. */
  readonly code?: string | undefined;
  /** Whether these are new, so that the run trains without new data. */
  readonly trainsCode?: boolean | undefined;
  /** The last one, whose declaration this is. */
  readonly retry?: Retry | undefined;
  /** Without its parts, which the declaration has. */
  readonly request?: Omit<RunRequest, 'parts'> | undefined;
  /** How much lay under incoming/, and whether S3 dates the arrival of each. Absent in copies of earlier releases. */
  readonly look?: { readonly objects: number; readonly isDated: boolean } | undefined;
};

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
  return parsed(closeSchema, stored?.text);
}

const pool = z.object({
  instanceType: z.string(),
  zoneId: z.string().optional(),
  purchaseOption: z.enum(['spot', 'on-demand']),
  region: z.string().optional(),
  launcher: z.enum(LAUNCHERS),
});

const topology = z.object({
  nodes: z.int().min(1),
  acceleratorsPerNode: z.int().min(0),
  helpers: z
    .array(z.object({ name: z.string(), instanceType: z.string(), nodes: z.int().min(1) }))
    .optional(),
});

const transfer = z.object({
  gigabytes: z.number(),
  usd: z.number(),
  seconds: z.number(),
  priceNote: z.string(),
});

const assessment = z.object({
  pool,
  score: z.number().optional(),
  hourlyUsd: z.number(),
  expectedCostUsd: z.number(),
  expectedSeconds: z.number(),
  expectedWaitSeconds: z.number().optional(),
  expectedUpSeconds: z.number().optional(),
  topology,
  expectedSecondsBetween: z.tuple([z.number(), z.number()]).optional(),
  transfer: transfer.optional(),
  verdict: z.string(),
});

const placement = z.object({
  pool,
  topology,
  subnetId: z.string().optional(),
  onDemandHourlyUsd: z.number(),
  helpersHourlyUsd: z.number().optional(),
  fileSystemsHourlyUsd: z.number().optional(),
  transfer: transfer.optional(),
  expectedSeconds: z.number().optional(),
  maximumRunSeconds: z.number(),
  maximumWaitSeconds: z.number().optional(),
  spotUntil: time.optional(),
  reason: z.string(),
  considered: z.array(assessment),
  decidedAt: time,
});

const attemptSchema = z.object({
  version: z.literal(VERSION),
  attempt: z.int().min(1),
  jobName: z.string(),
  placement,
  launcher: z.enum(LAUNCHERS),
  taskToken: z.string().optional(),
  createdAt: time,
  progressBefore: progressSchema.optional(),
});

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
export async function keptAttempts(
  store: ObjectStore,
  { pipeline, runId }: RunReference,
  { at, except }: { readonly at: string; readonly except: ReadonlySet<number> },
): Promise<AttemptRecord[]> {
  const missing = (await attemptKeys(store, { pipeline, runId })).filter(
    ({ attempt }) => !except.has(attempt),
  );
  const found: AttemptRecord[] = [];
  for (const { key } of missing) {
    const kept = parsed(attemptSchema, (await store.readText(key))?.text);
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
    if (attempt > 0) found.push({ key, attempt });
  }
  return found.sort((a, b) => a.attempt - b.attempt);
}

const write = (store: ObjectStore, key: string, document: object): Promise<void> =>
  store.writeText(key, `${JSON.stringify({ version: VERSION, ...document }, null, 2)}\n`);

function parsed<T>(schema: z.ZodType<T>, text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
