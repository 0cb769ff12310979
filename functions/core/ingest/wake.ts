/** From "something arrived" (or a schedule, or a person) to one running execution. */

import { executionName, openRun, type PipelineRecord, wakes } from '../runs/batches.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Stores } from '../runs/stores.ts';
import { bucketKeys, parseRunId, runIdOf } from '../shared/keys.ts';
import type { Clock, Executions, ObjectStore } from '../shared/ports.ts';

export interface WakeDeps extends Pick<Stores, 'pipelines' | 'runs'> {
  readonly store: ObjectStore;
  readonly executions: Executions;
  readonly clock: Clock;
}

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
  };
  const created = await deps.runs.create(fresh);
  let run = created === 'created' ? fresh : ((await deps.runs.get(runId)) ?? fresh);
  if (wake.trigger === 'api' && run.trigger !== 'api') {
    // A person requested a model: the run that data began trains even if it finds nothing new.
    run = await deps.runs.update(runId, { trigger: 'api', updatedAt: at });
  }
  // Closed between our two looks: what this wake stands for belongs to the next batch.
  if (run.closedAt !== undefined) return wakeRun(deps, wake);
  const started = await startExecution(deps.executions, run);
  return { kind: started === 'started' ? 'started' : 'running', runId };
}

/** The same input for every trigger, so that Step Functions knows a repeated start for what it is. */
export const startExecution = (executions: Executions, { runId, pipeline, execution }: RunRecord) =>
  executions.start(executionName(runId, execution), { runId, pipeline });

async function pipelineOnRecord(deps: WakeDeps, name: string): Promise<PipelineRecord | undefined> {
  const known = await deps.pipelines.get(name);
  if (known !== undefined && known.removedAt === undefined) return known;
  if ((await deps.store.readText(bucketKeys.pipeline(name))) === undefined) return undefined;
  return ensurePipeline(deps, name);
}

/**
 * A table that was lost is rebuilt from the bucket: the newest run folder is taken up again if it has no report, so
 * its plan, shards and checkpoints count; otherwise numbering goes on behind it.
 */
export async function ensurePipeline(
  deps: Pick<WakeDeps, 'pipelines' | 'store' | 'clock'>,
  name: string,
): Promise<PipelineRecord> {
  const known = await deps.pipelines.get(name);
  if (known !== undefined) return known;
  const folders = await deps.store.listFolders(`${name}/runs/`);
  const batches = folders.map(parseRunId).filter((run) => run?.pipeline === name);
  const newest = Math.max(0, ...batches.map((run) => run?.batch ?? 0));
  const isReported =
    newest > 0 && (await deps.store.readText(bucketKeys.report(name, runIdOf(name, newest)))) !== undefined;
  const firstBatch = isReported ? newest + 1 : Math.max(1, newest);
  return deps.pipelines.ensure(name, { firstBatch, at: deps.clock.now().toISOString() });
}
