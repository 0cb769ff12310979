/** From "something arrived" (or a schedule) to one running execution. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isPartlyListed, openRun, type PipelineRecord } from '../../records/batches.ts';
import type { RunRecord } from '../../records/run-records.ts';
import { type RestoreRunsDeps, restoreRuns } from './restore-runs.ts';

export type WakeDeps = RestoreRunsDeps;

/** By data or a schedule; `requestRun` is for persons. */
export interface Wake {
  readonly pipeline: string;
  readonly trigger: Exclude<RunRecord['trigger'], 'api'>;
  /** Of the newest arrival behind this wake; undefined for a schedule. */
  readonly eventTime?: Date | undefined;
  /** The open batch when a look found an arrival without an event: a close that lists has found it too. */
  readonly openBatch?: number | undefined;
}

interface Started {
  readonly kind: 'started' | 'running';
  readonly runId: string;
}

export type Woken = Started | { readonly kind: 'ignored'; readonly reason: string };

/** Tolerance between S3's clock and ours. An arrival this close to the close starts a run that may find nothing. */
const CLOCK_SKEW_MILLISECONDS = 2_000;

/**
 * An object older than the last listing is in that batch, because S3's listings are strongly consistent. So a late or
 * repeated event of it starts no run.
 */
export function wakes(pipeline: Pick<PipelineRecord, 'closedAt' | 'notified'>, eventTime: Date): boolean {
  const listedAt = isPartlyListed(pipeline) ? pipeline.notified?.listedAt : pipeline.closedAt;
  if (listedAt === undefined) return true;
  return eventTime.getTime() > new Date(listedAt).getTime() - CLOCK_SKEW_MILLISECONDS;
}

/** Safe to call ten thousand times: the run's name is the open batch's, and a name starts once. */
export async function wakeRun(deps: WakeDeps, wake: Wake): Promise<Woken> {
  const pipeline = await pipelineOnRecord(deps, wake.pipeline);
  if (pipeline === undefined) return undeclared(wake.pipeline);
  const { openBatch = pipeline.openBatch } = wake;
  const isOvertaken =
    openBatch < pipeline.openBatch && pipeline.seen !== undefined && !isPartlyListed(pipeline);
  if (isOvertaken || (wake.eventTime && !wakes(pipeline, wake.eventTime))) {
    return {
      kind: 'ignored',
      reason: 'the arrival was there before the last batch was closed and is part of it',
    };
  }
  const at = deps.clock.now().toISOString();
  const newestEventAt = wake.eventTime?.toISOString();
  const fresh: RunRecord = { ...openedRun(pipeline, at), trigger: wake.trigger, newestEventAt };
  const created = await deps.runs.create(fresh);
  const run = created === 'created' ? fresh : ((await deps.runs.get(fresh.runId)) ?? fresh);
  // Closed between our two looks: what this wake stands for belongs to the next batch.
  if (run.closedAt !== undefined) return wakeRun(deps, wake);
  await keepNewestEvent(deps, run, wake);
  return started(deps, run);
}

export const openedRun = (pipeline: PipelineRecord, at: string) => ({
  ...openRun(pipeline),
  pipeline: pipeline.name,
  status: 'settling' as const,
  execution: 1,
  createdAt: at,
  updatedAt: at,
});

export const undeclared = (name: string): Woken => ({
  kind: 'ignored',
  reason: `no pipeline is declared at ${bucketKeys.pipeline(name)}`,
});

export async function started({ executions }: WakeDeps, run: RunRecord): Promise<Started> {
  const isNew = (await executions.start(run)) === 'started';
  return { kind: isNew ? 'started' : 'running', runId: run.runId };
}

/** Of two wakes at once the older may win: the settle window is then up to a second shorter or longer. */
async function keepNewestEvent(
  { runs, clock }: WakeDeps,
  { runId, newestEventAt }: RunRecord,
  { eventTime }: Wake,
): Promise<void> {
  if (eventTime === undefined) return;
  if (newestEventAt !== undefined && eventTime <= new Date(newestEventAt)) return;
  await runs.update(runId, {
    newestEventAt: eventTime.toISOString(),
    updatedAt: clock.now().toISOString(),
  });
}

export async function pipelineOnRecord(deps: WakeDeps, name: string): Promise<PipelineRecord | undefined> {
  const known = await deps.pipelines.get(name);
  if (known !== undefined && known.removedAt === undefined) return known;
  if ((await deps.store.readText(bucketKeys.pipeline(name))) === undefined) return undefined;
  return ensurePipeline(deps, name);
}

export async function ensurePipeline(deps: WakeDeps, name: string): Promise<PipelineRecord> {
  return (await deps.pipelines.get(name)) ?? restoreRuns(deps, name);
}
