/** Level-triggered repair: does what events and executions would have done, had none of them been lost. */

import { observe } from '../ingest/settle.ts';
import { startExecution, wakeRun } from '../ingest/wake.ts';
import type { LeftoverPort } from '../launch/launcher.ts';
import { pipelineName } from '../pipeline/pipeline.ts';
import { executionName, type PipelineRecord, wakes } from '../runs/batches.ts';
import { FINISHED, type RunRecord } from '../runs/run-records.ts';
import type { Stores } from '../runs/stores.ts';
import { bucketKeys, PIPELINES_PREFIX } from '../shared/keys.ts';
import { continueRun } from './next-execution.ts';
import { observeAttempt } from './observe-attempt.ts';
import { refillAttempt } from './refill-attempt.ts';
import { decidedVerdict, reportRun } from './report-run.ts';
import { type ReviseDeps, reviseAttempt } from './revise-attempt.ts';
import { watchCheckpoints } from './watch-checkpoints.ts';

export type ReconcileDeps = ReviseDeps & Pick<Stores, 'pipelines'>;

export interface ReconcileResult {
  readonly attempts: number;
  readonly resumed: readonly string[];
  readonly woken: readonly string[];
  /** What could not be looked at this time; the next time comes. */
  readonly failures: readonly string[];
}

/** A run whose executions keep dying is given up; each of them has retried its states on its own before. */
export const MAXIMUM_EXECUTIONS = 25;
/** A run on record this long without an execution lost its start. */
const START_GRACE_SECONDS = 30;

/** @param sweep also list the incoming prefixes for arrivals whose event never came (dearer, so done less often) */
export async function reconcile(
  deps: ReconcileDeps,
  options: { readonly sweep: boolean },
): Promise<ReconcileResult> {
  const failures: string[] = [];
  const each = async <T>(items: readonly T[], name: (item: T) => string, act: (item: T) => Promise<void>) => {
    for (const item of items) {
      // One that cannot be mended must not keep the others from it.
      await act(item).catch((error: unknown) => {
        failures.push(`${name(item)}: ${error instanceof Error ? error.message : String(error)}`);
      });
    }
  };
  const attempts = await deps.attempts.listOpen();
  await each(
    attempts,
    ({ jobName }) => jobName,
    async (attempt) => {
      const observed = await refillAttempt(deps, attempt);
      if (observed.kind !== 'running') return;
      await watchCheckpoints(deps, attempt, observed.job);
      await reviseAttempt(deps, attempt, observed.job);
    },
  );
  if (options.sweep)
    await each(
      Object.entries(deps.launchers),
      ([name]) => `what jobs of ${name} left behind`,
      ([, { leftovers }]) => (leftovers === undefined ? Promise.resolve() : release(deps, leftovers)),
    );
  const resumed: string[] = [];
  await each(
    await deps.runs.listOpen(),
    ({ runId }) => runId,
    async (run) => {
      if (await resumeIfDropped(deps, run)) resumed.push(run.runId);
    },
  );
  const woken: string[] = [];
  if (options.sweep) {
    await each(
      await pipelinesToSweep(deps),
      ({ name }) => name,
      async (pipeline) => {
        if (!(await holdsUnseen(deps, pipeline))) return;
        const { name } = pipeline;
        const run = await wakeRun(deps, { pipeline: name, trigger: 'arrival' });
        if (run.kind === 'started') woken.push(run.runId);
      },
    );
  }
  return { attempts: attempts.length, resumed, woken, failures };
}

/** What attempts that have ended left behind; the jobs of other installations are on no record here. */
async function release({ attempts }: ReconcileDeps, leftovers: LeftoverPort): Promise<void> {
  for (const jobName of await leftovers.list()) {
    const attempt = await attempts.findByJob(jobName);
    if (attempt?.outcome !== undefined) await leftovers.release(jobName);
  }
}

async function resumeIfDropped(deps: ReconcileDeps, listed: RunRecord): Promise<boolean> {
  const status = await deps.executions.status(executionName(listed.runId, listed.execution));
  // Read after the status: an execution ends after its run is closed, and the index may lag.
  const run = await deps.runs.get(listed.runId);
  if (run === undefined || FINISHED.includes(run.status) || run.execution !== listed.execution) return false;
  if (status === 'running') {
    await tellAgain(deps, run);
    return false;
  }
  if (status === undefined) {
    const ageSeconds = (deps.clock.now().getTime() - new Date(run.updatedAt).getTime()) / 1000;
    if (ageSeconds < START_GRACE_SECONDS) return false;
    await startExecution(deps.executions, run);
    return true;
  }
  const decided = decidedVerdict(await deps.timeline.list(run.runId));
  if (decided !== undefined) {
    // Only the closing is left: going on would train for a run that has ended.
    await reportRun(deps, run.runId, decided);
    return false;
  }
  if (run.execution >= MAXIMUM_EXECUTIONS) {
    const reason = `${run.execution} executions of the run ended without an outcome; see their histories`;
    await reportRun(deps, run.runId, { kind: 'failed', reason });
    return false;
  }
  await continueRun(deps, run);
  return true;
}

/** Whoever recorded an attempt's end may have died before telling the execution that waits for it. */
async function tellAgain(deps: ReconcileDeps, run: RunRecord): Promise<void> {
  if (run.status !== 'training') return;
  const last = (await deps.attempts.list(run.runId)).at(-1);
  if (last?.outcome !== undefined) await observeAttempt(deps, last);
}

type PipelineToSweep = Pick<PipelineRecord, 'name'> & Partial<PipelineRecord>;

/** Those on record, and those whose declaration lies in the bucket although nobody was told (or the table was lost). */
async function pipelinesToSweep({ pipelines, store }: ReconcileDeps): Promise<PipelineToSweep[]> {
  const known: PipelineToSweep[] = await pipelines.list();
  const names = new Set(known.map(({ name }) => name));
  for await (const { key } of store.list(PIPELINES_PREFIX)) {
    const name = pipelineName.safeParse(key.slice(PIPELINES_PREFIX.length).replace(/\.yaml$/, ''));
    if (name.success && key === bucketKeys.pipeline(name.data) && !names.has(name.data))
      known.push({ name: name.data });
  }
  return known;
}

/**
 * Whether something lies there that the last close has not seen. Compared by what it is, not by its date: S3 dates a
 * multipart upload from its start, so it can appear with a time before the close.
 */
async function holdsUnseen({ store, clock }: ReconcileDeps, pipeline: PipelineToSweep): Promise<boolean> {
  const prefix = bucketKeys.incoming(pipeline.name);
  const { closedAt, seen } = pipeline;
  if (closedAt !== undefined && seen === undefined) {
    // The run that closed it failed before it looked; only what came since is worth another.
    for await (const { lastModified } of store.list(prefix))
      if (wakes({ closedAt }, lastModified)) return true;
    return false;
  }
  const { objects, fingerprint } = await observe(store.list(prefix), { prefix, now: clock.now() });
  return objects > 0 && fingerprint !== seen;
}
