/** Finds arrivals whose event was lost, by a listing. An idle pipeline is listed ever more rarely, so keeping data is free. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isPartlyListed, type PipelineRecord } from '../../records/batches.ts';
import { FEW_OBJECTS, WHOLE_LISTING_SECONDS } from './notified.ts';
import { restoreRuns } from './restore-runs.ts';
import { lookAtIncoming } from './settle-run.ts';
import { type WakeDeps, type Woken, wakeRun, wakes } from './wake.ts';

/** @returns undefined if it is not yet time for a look, or if the look found nothing new */
export async function sweepPipeline(deps: WakeDeps, pipeline: PipelineRecord): Promise<Woken | undefined> {
  const now = deps.clock.now();
  if (!isDue(pipeline, now)) return undefined;
  const { name } = pipeline;
  // Its last runs listed only what was notified of. The next one lists everything.
  if (isPartlyListed(pipeline)) return wakeRun(deps, { pipeline: name, trigger: 'arrival' });
  const restored = await restoreRuns(deps, name);
  const found = await lookForUnseen(deps, restored);
  const { openBatch } = restored;
  if (found.isUnseen) return wakeRun(deps, { pipeline: name, trigger: 'arrival', openBatch });
  await deps.pipelines.setSwept(name, { sweptAt: now.toISOString(), sweptObjects: found.objects });
  return undefined;
}

const HOUR_SECONDS = 3_600;

/**
 * The listing of a closed batch counts as a look. The next one is due when the pipeline has been idle for twice as long
 * as at the last: after one, two, four hours and so on. So a year without arrivals costs 14 listings, and a lost event
 * waits at most as long as the pipeline had been idle.
 */
function isDue(pipeline: Partial<PipelineRecord>, now: Date): boolean {
  const { closedAt, sweptAt, sweptObjects = 0, notified } = pipeline;
  if (notified !== undefined && isPartlyListed({ closedAt, notified }))
    return now.getTime() - Date.parse(notified.listedAt) >= WHOLE_LISTING_SECONDS * 1_000;
  const activeAt = closedAt ?? pipeline.updatedAt;
  if (activeAt === undefined || (closedAt === undefined && sweptAt === undefined)) return true;
  const active = Date.parse(activeAt);
  const looked = Math.max(active, Date.parse(sweptAt ?? activeAt));
  const least = HOUR_SECONDS * 1_000 * (sweptObjects > FEW_OBJECTS ? 24 : 1);
  return now.getTime() - looked >= Math.max(least, looked - active);
}

/**
 * Whether the prefix holds anything that the last close did not see. A fingerprint decides, not dates: S3 dates a
 * multipart upload from its start, so an upload can appear with a time before the close.
 */
async function lookForUnseen(
  { store, clock }: WakeDeps,
  pipeline: PipelineRecord,
): Promise<{ readonly isUnseen: boolean; readonly objects: number }> {
  const prefix = bucketKeys.incoming(pipeline.name);
  const { closedAt, seen } = pipeline;
  if (closedAt !== undefined && seen === undefined) {
    // The run that closed the batch failed before it listed the prefix: only newer arrivals deserve another run.
    let objects = 0;
    for await (const { lastModified } of store.list(prefix)) {
      objects += 1;
      if (wakes({ closedAt }, lastModified)) return { isUnseen: true, objects };
    }
    return { isUnseen: false, objects };
  }
  const { objects, fingerprint } = await lookAtIncoming(store.list(prefix), { prefix, now: clock.now() });
  return { isUnseen: objects > 0 && fingerprint !== seen, objects };
}
