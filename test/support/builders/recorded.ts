/**
 * What a release has stored, recorded from its own tests: buckets of packed data with a run between pack and seal, and
 * runs of its world in several states (test/README.md says how).
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { PipelineRecord } from '../../../functions/records/batches.ts';
import type { AttemptRecord, RunRecord, TimelineEntry } from '../../../functions/records/run-records.ts';
import { FINISHED } from '../../../functions/records/run-records.ts';
import type { StoredPlacement, Stores } from '../../../functions/records/stores.ts';
import { MemoryBlobStore } from '../fakes/memory-blob-store.ts';
import type { MemoryStores } from '../fakes/stores.ts';
import { attemptOf, runOf } from './records.ts';

const FOLDER = path.join(import.meta.dirname, '../releases');
export const RECORDED_RELEASES = ['52d531f5', '0.1.0'] as const;

export interface RecordedState {
  readonly run: RunRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly placements: readonly StoredPlacement[];
  readonly timeline: readonly TimelineEntry[];
  readonly pipeline: PipelineRecord;
  /** When it was so. */
  readonly now: string;
}

interface Recorded {
  readonly buckets: Readonly<
    Record<
      string,
      { readonly packing: unknown; readonly objects: Readonly<Record<string, [string, string]>> }
    >
  >;
  readonly worlds: Readonly<
    Record<
      string,
      {
        /** At the end. */
        readonly objects: Readonly<Record<string, string>>;
        readonly states: Readonly<Record<string, RecordedState>>;
      }
    >
  >;
}

export function recordedOf(release: (typeof RECORDED_RELEASES)[number]): Recorded {
  const file = path.join(FOLDER, release, 'documents.json.gz');
  const recorded: Recorded = JSON.parse(gunzipSync(readFileSync(file)).toString());
  return recorded;
}

export function bucketOf(objects: Recorded['buckets'][string]['objects']): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (const [key, [body, etag]] of Object.entries(objects))
    store.seed(key, Buffer.from(body, 'base64'), etag);
  return store;
}

/** As they lay in the table, whatever this release would have written. */
export async function putState(
  stores: Stores & Pick<MemoryStores, 'rewrite'>,
  state: RecordedState,
): Promise<void> {
  const { run, attempts, placements, timeline, pipeline } = state;
  const as = (record: object) => (item: object) => ({ ...record, ...only(item, 'pk', 'sk', 'version') });
  await stores.pipelines.ensure(pipeline.name, { firstBatch: 1, at: run.createdAt });
  stores.rewrite('pipelines', pipeline.name, as(pipeline));
  await stores.runs.create({ ...runOf(run.pipeline, run.batch), createdAt: run.createdAt });
  if (FINISHED.includes(run.status))
    await stores.runs.update(run.runId, { status: run.status, updatedAt: run.updatedAt });
  stores.rewrite('runs', run.runId, as(run));
  for (const attempt of attempts) {
    const { jobName, outcome } = attempt;
    await stores.attempts.create(attemptOf(run.runId, attempt.attempt, { jobName }));
    if (outcome !== undefined)
      await stores.attempts.update(run.runId, attempt.attempt, { outcome, updatedAt: attempt.updatedAt });
    stores.rewrite('attempts', `${run.runId} ${attempt.attempt}`, as(attempt));
  }
  for (const { attempt, decision } of placements) await stores.placements.put(run.runId, attempt, decision);
  for (const entry of timeline) await stores.timeline.add(run.runId, entry);
}

const only = (item: object, ...names: readonly string[]): object =>
  Object.fromEntries(Object.entries(item).filter(([name]) => names.includes(name)));
