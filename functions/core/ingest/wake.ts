/** From "something arrived" (or a schedule, or a person) to one running execution. */

import { openRun, type PipelineRecord, wakes } from '../runs/batches.ts';
import type { RunRecord } from '../runs/run-records.ts';
import { bucketKeys } from '../shared/keys.ts';
import { type RestoreRunsDeps, restoreRuns } from './restore-runs.ts';
import { startExecution } from './start-execution.ts';

export type WakeDeps = RestoreRunsDeps;

export interface Wake {
  readonly pipeline: string;
  readonly trigger: RunRecord['trigger'];
  /** Of the newest arrival behind this wake; undefined for a schedule or a person. */
  readonly eventTime?: Date | undefined;
}

export type Woken =
  | { readonly kind: 'started' | 'running'; readonly runId: string }
  | { readonly kind: 'ignored'; readonly reason: string };

/** Safe to call ten thousand times: the run's name is the open batch's, and a name starts once. */
export async function wakeRun(deps: WakeDeps, wake: Wake): Promise<Woken> {
  const pipeline = await pipelineOnRecord(deps, wake.pipeline);
  if (pipeline === undefined) {
    return { kind: 'ignored', reason: `no pipeline is declared at ${bucketKeys.pipeline(wake.pipeline)}` };
  }
  if (wake.eventTime && !wakes(pipeline, wake.eventTime)) {
    return {
      kind: 'ignored',
      reason: 'the arrival was there before the last batch was closed and is part of it',
    };
  }
  const { runId, batch } = openRun(pipeline);
  const at = deps.clock.now().toISOString();
  const fresh: RunRecord = {
    runId,
    pipeline: pipeline.name,
    batch,
    status: 'settling',
    trigger: wake.trigger,
    execution: 1,
    createdAt: at,
    updatedAt: at,
    newestEventAt: wake.eventTime?.toISOString(),
  };
  const created = await deps.runs.create(fresh);
  let run = created === 'created' ? fresh : ((await deps.runs.get(runId)) ?? fresh);
  if (wake.trigger === 'api' && run.trigger !== 'api') {
    // A person requested a model: the run that data began trains even if it finds nothing new.
    run = await deps.runs.update(runId, { trigger: 'api', updatedAt: at });
  }
  // Closed between our two looks: what this wake stands for belongs to the next batch.
  if (run.closedAt !== undefined) return wakeRun(deps, wake);
  await keepNewestEvent(deps, run, wake);
  const started = await startExecution(deps.executions, run);
  return { kind: started === 'started' ? 'started' : 'running', runId };
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

async function pipelineOnRecord(deps: WakeDeps, name: string): Promise<PipelineRecord | undefined> {
  const known = await deps.pipelines.get(name);
  if (known !== undefined && known.removedAt === undefined) return known;
  if ((await deps.store.readText(bucketKeys.pipeline(name))) === undefined) return undefined;
  return ensurePipeline(deps, name);
}

export async function ensurePipeline(deps: WakeDeps, name: string): Promise<PipelineRecord> {
  return (await deps.pipelines.get(name)) ?? restoreRuns(deps, name);
}
