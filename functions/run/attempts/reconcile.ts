/** Level-triggered repair: does the work of lost events and ended executions. */

import { bucketKeys, parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { eachItem } from '@tidewheel/kit/each-item.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { jobSaltOf, parseJobName } from '../../launch/job/job-name.ts';
import type { LeftoverPort } from '../../launch/launcher.ts';
import { tellAutomatic } from '../../records/automatic.ts';
import { executionName } from '../../records/batches.ts';
import type { ExecutionStatus } from '../../records/ports.ts';
import {
  type AttemptRecord,
  FINISHED,
  type RunRecord,
  type TimelineEntry,
} from '../../records/run-records.ts';
import type { Stores, Tell } from '../../records/stores.ts';
import {
  lostPipelines,
  outdatedPipelines,
  type RegisterDeps,
  registerPipeline,
} from '../ingest/register-pipeline.ts';
import { sweepPipeline } from '../ingest/sweep.ts';
import { publishModels } from '../models/decide-models.ts';
import { continueRun } from './next-execution.ts';
import { endOpenAttempts, observeAttempt } from './observe-attempt.ts';
import { refillAttempt } from './refill-attempt.ts';
import { decidedVerdict, reportRun } from './report-run.ts';
import { type ReviseDeps, reviseAttempt } from './revise-attempt.ts';
import { endWaiting } from './stop-run.ts';
import { watchCheckpoints, watchHangs } from './watch-attempt.ts';
import { watchLimits } from './watch-limits.ts';
import { watchResume } from './watch-resume.ts';

export type ReconcileDeps = ReviseDeps &
  Pick<Stores, 'pipelines' | 'models'> &
  Pick<RegisterDeps, 'allowed' | 'schedules' | 'notifiedMarker'> & {
    /** Rejects when the work takes too long. Absent: no limit. */
    readonly withinLimit?: ((work: Promise<unknown>, seconds: number) => Promise<unknown>) | undefined;
  };

export interface ReconcileResult {
  readonly attempts: number;
  readonly resumed: readonly string[];
  readonly woken: readonly string[];
  /** Errors of this pass; the next pass tries again. */
  readonly failures: readonly string[];
}

/** A run whose executions keep failing is given up. Each execution has retried its own states. */
const MAXIMUM_EXECUTIONS = 25;
/** Throttling and outages say nothing about a run, and pass within a day. These executions take about a day. */
const MAXIMUM_UNAVAILABLE = 300;
/** The start of a run was lost if it is on record this long without an execution. */
const START_GRACE_SECONDS = 30;

/** @param sweep also looks for arrivals without an event; it costs more, so it runs less often */
export async function reconcile(
  deps: ReconcileDeps,
  given: { readonly sweep: boolean },
): Promise<ReconcileResult> {
  const failures: string[] = [];
  const lost = await lostPipelines(deps).catch((error: unknown) => {
    failures.push(`lost pipelines are not looked for: ${messageOf(error)}`);
    return [];
  });
  failures.push(...lost.map((name) => `${name}: the table has lost it, and it is restored`));
  const options = { sweep: given.sweep || lost.length > 0 };
  const { withinLimit = (work) => work } = deps;
  const each: Each = (items, name, act, seconds = USUAL_SECONDS) =>
    eachItem(items, name, act, {
      now: deps.clock.now(),
      failures,
      lanes: LANES,
      withinLimit: (work) => withinLimit(work, seconds),
    });
  const tell: Tell = ({ why }) => {
    failures.push(why);
  };
  const attempts = await deps.attempts.listOpen(tell);
  await each(
    attempts,
    ({ jobName }) => jobName,
    (attempt) => lookAt(deps, attempt),
  );
  if (options.sweep) await releaseLeftovers(deps, each);
  await each(
    [deps.runs],
    () => 'runs of an earlier release',
    (runs) => runs.indexBegun(INDEX_READS),
    LONG_SECONDS,
  );
  const resumed: string[] = [];
  const resume = async (run: RunRecord): Promise<void> => {
    if (await resumeIfDropped(deps, run, options)) resumed.push(run.runId);
  };
  await each(await deps.runs.listOpen(tell), ({ runId }) => runId, resume);
  await each(
    await deps.models.listUnpublished(tell),
    ({ pipeline }) => `models of ${pipeline}`,
    ({ pipeline }) => publishModels(deps, pipeline),
  );
  const woken = options.sweep ? await sweepPipelines(deps, each, tell) : [];
  await each(
    [...new Set((await deps.attempts.listOpen()).map(({ runId }) => runId))],
    (runId) => `limits of ${runId}`,
    (runId) => watchLimits(deps, runId),
  );
  return { attempts: attempts.length, resumed, woken, failures };
}

type Each = <T>(
  items: readonly T[],
  name: (item: T) => string,
  act: (item: T) => Promise<unknown>,
  /** For one item. */
  seconds?: number,
) => Promise<void>;

const LANES = 8;
/** An attempt, a run or a declaration usually takes a second. */
const USUAL_SECONDS = 30;
/** A listing of millions of arrivals. */
const LONG_SECONDS = 240;

/** 1 MB each: an upgrade is done in a few passes, and this one has time for the rest. */
const INDEX_READS = 20;

async function lookAt(deps: ReconcileDeps, attempt: AttemptRecord): Promise<void> {
  const observed = await refillAttempt(deps, attempt);
  if (observed.kind !== 'ended' && (await isRunOver(deps, attempt)))
    return endOpenAttempts(deps, attempt.runId);
  if (observed.kind !== 'running') return;
  await watchCheckpoints(deps, attempt, observed.job);
  await watchHangs(deps, attempt, observed.job);
  await watchResume(deps, attempt);
  await tellAutomatic(deps, attempt);
  await reviseAttempt(deps, attempt, observed.job);
}

/** @returns the runs that it started */
async function sweepPipelines(deps: ReconcileDeps, each: Each, tell: Tell): Promise<readonly string[]> {
  const woken: string[] = [];
  await each(
    await outdatedPipelines(deps),
    (name) => name,
    async (name) => {
      const registered = await registerPipeline(deps, name);
      if (registered.kind === 'valid' && registered.woken?.kind === 'started')
        woken.push(registered.woken.runId);
    },
  );
  await each(
    await deps.pipelines.list({ tell }),
    ({ name }) => name,
    async (pipeline) => {
      const run = await sweepPipeline(deps, pipeline);
      if (run?.kind === 'started') woken.push(run.runId);
      // The file may be gone, or older than the decision.
      await publishModels(deps, pipeline.name);
    },
    LONG_SECONDS,
  );
  return woken;
}

/** A process that was slow may record an attempt after its run has ended. A lost run that has a report has ended. */
async function isRunOver(
  { runs, store }: ReconcileDeps,
  { runId, pipeline }: Pick<AttemptRecord, 'runId' | 'pipeline'>,
): Promise<boolean> {
  const run = await runs.get(runId);
  if (run !== undefined) return FINISHED.includes(run.status);
  return (await store.readText(bucketKeys.report(pipeline, runId))) !== undefined;
}

/** Releases the leftovers of ended attempts. Jobs of other installations have no record here. */
async function releaseLeftovers(deps: ReconcileDeps, each: Each): Promise<void> {
  const found: { readonly jobName: string; readonly leftovers: LeftoverPort }[] = [];
  await each(
    Object.entries(deps.launchers),
    ([name]) => `leftovers of ${name} jobs`,
    async ([, { leftovers }]) => {
      if (leftovers === undefined) return;
      for (const jobName of await leftovers.list()) found.push({ jobName, leftovers });
    },
    LONG_SECONDS,
  );
  await each(
    found,
    ({ jobName }) => `leftovers of ${jobName}`,
    async ({ jobName, leftovers }) => {
      if (await hasEnded(deps, jobName)) await leftovers.release(jobName);
    },
  );
}

async function hasEnded(deps: ReconcileDeps, jobName: string): Promise<boolean> {
  const attempt = await deps.attempts.findByJob(jobName);
  if (attempt !== undefined) return attempt.outcome !== undefined;
  const { runId } = parseJobName(jobName, jobSaltOf(deps.store.bucket)) ?? {};
  const run = runId === undefined ? undefined : parseRunId(runId);
  return runId !== undefined && run !== undefined && isRunOver(deps, { runId, pipeline: run.pipeline });
}

async function resumeIfDropped(
  deps: ReconcileDeps,
  listed: RunRecord,
  { sweep }: { readonly sweep: boolean },
): Promise<boolean> {
  const status = await deps.executions.status(executionName(listed.runId, listed.execution));
  // The run is read after the status, because an execution ends after its run is closed and the index may lag.
  const run = await deps.runs.get(listed.runId);
  if (run === undefined || FINISHED.includes(run.status) || run.execution !== listed.execution) return false;
  if (status === 'running') {
    await repeatEnd(deps, run);
    await endWaiting(deps, run);
    return false;
  }
  if (status === undefined) {
    const ageSeconds = (deps.clock.now().getTime() - new Date(run.updatedAt).getTime()) / 1000;
    if (ageSeconds < START_GRACE_SECONDS) return false;
    // Step Functions keeps a name for 90 days, which a state machine of a removed stack may have taken.
    if ((await deps.executions.start(run)) === 'closed') await continueRun(deps, run);
    return true;
  }
  if (isHeld(status, run, sweep)) return false;
  // A run of which this release cannot read everything is held: no execution could go on, and none may end it.
  await deps.attempts.list(run.runId);
  const timeline = await deps.timeline.list(run.runId);
  const decided = decidedVerdict(run, timeline);
  if (decided !== undefined) {
    // Only the close is missing: another execution would train for an ended run.
    await reportRun(deps, run.runId, decided);
    return false;
  }
  const reason = whyGivenUp(run, status, timeline);
  if (reason !== undefined) {
    await reportRun(deps, run.runId, { kind: 'failed', reason });
    return false;
  }
  await continueRun(deps, run);
  return true;
}

/** An execution would meet the same until another release is there. A person's stop does not wait. */
const isHeld = (status: ExecutionStatus, { stop }: RunRecord, sweep: boolean): boolean =>
  status === 'held' && !sweep && stop === undefined;

function whyGivenUp(
  { execution }: RunRecord,
  status: ExecutionStatus,
  timeline: readonly TimelineEntry[],
): string | undefined {
  if (status === 'held') return undefined;
  const isRefused = status === 'retriesExhausted';
  const held = timeline.filter(({ kind }) => kind === 'RunHeld').length;
  if (execution - held < (isRefused ? MAXIMUM_UNAVAILABLE : MAXIMUM_EXECUTIONS)) return undefined;
  const why = isRefused ? 'while AWS refused its calls or did not answer' : 'without an outcome';
  const news = timeline.findLast(({ kind }) => kind !== 'Resumed')?.text ?? 'none';
  return `${execution} executions of the run ended ${why}: their histories in Step Functions name the cause. Its last news: ${news}`;
}

/** The process that recorded an attempt's end may have died before it answered the waiting execution. */
async function repeatEnd(deps: ReconcileDeps, run: RunRecord): Promise<void> {
  if (run.status !== 'training') return;
  const last = (await deps.attempts.list(run.runId)).at(-1);
  if (last?.outcome !== undefined) await observeAttempt(deps, last);
}
