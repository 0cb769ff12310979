/** The answers about one run. */

import { hash } from 'node:crypto';
import { moneyOf } from '../attempts/outlook/money.ts';
import type { RunReport } from '../attempts/report.ts';
import { readReport } from '../attempts/reports/stored-report.ts';
import { isOpenAgain } from '../attempts/retry-run.ts';
import { writtenPipeline } from '../pipeline/tuning.ts';
import { attemptCost } from '../placement/attempt-cost.ts';
import type { Progress } from '../placement/attempts.ts';
import { readProgress } from '../runs/progress.ts';
import { shownRun } from '../runs/requests.ts';
import { beganAt } from '../runs/resume.ts';
import { type AttemptRecord, FINISHED, type RunRecord, type TimelineEntry } from '../runs/run-records.ts';
import { readSeries, thinned } from '../runs/series.ts';
import type { Stores } from '../runs/stores.ts';
import type { Clock, ObjectStore } from '../shared/ports.ts';
import { type AnswerOf, noRun, ok, problem, type RequestOf } from './answers.ts';
import { leftOut, steppedOver } from './paging.ts';
import { MOST_POINTS } from './schemas/series.ts';
import { noPlacement, storedPlacementOf } from './what-if.ts';

export interface RunDeps extends Pick<Stores, 'pipelines' | 'runs' | 'attempts' | 'placements' | 'timeline'> {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** One answer stays small however long the run has been going on; the whole timeline has a route of its own. */
const NEWEST_ENTRIES = 100;
const LONGEST_TEXT = 300;

/** A record is dated a moment before it can be read, and clocks differ. */
const OVERLAP_MILLISECONDS = 10_000;
/** What is expected changes by the clock alone. */
const MOMENT_MILLISECONDS = 60_000;

export async function getRun(
  deps: RunDeps,
  { parameters, query: { since } }: RequestOf<'GET /runs/{runId}'>,
): AnswerOf<'GET /runs/{runId}'> {
  const runId = parameters['runId'] ?? '';
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  const now = deps.clock.now();
  const [attempts, timeline, progress, report] = await Promise.all([
    deps.attempts.list(runId),
    deps.timeline.list(runId),
    readProgress(deps.store, run.pipeline, runId),
    FINISHED.includes(run.status) ? reportOf(deps, run) : undefined,
  ]);
  const isNew = (at: string): boolean => since === undefined || Date.parse(at) >= Date.parse(since);
  const changed = timeline.filter(({ at }) => isNew(at));
  const body = {
    asOf: new Date(now.getTime() - OVERLAP_MILLISECONDS).toISOString(),
    run: { ...shownRun(run), declaration: run.declaration && writtenPipeline(run.declaration) },
    attempts: attempts
      .filter(({ updatedAt }) => isNew(updatedAt))
      .map((attempt) => ({
        ...summaryOf(attempt),
        diagnosis: attempt === attempts.at(-1) ? attempt.diagnosis : undefined,
      })),
    timeline: changed.slice(-NEWEST_ENTRIES).map((entry) => ({ ...entry, text: shortened(entry.text) })),
    timelineCount: timeline.length,
    progress,
    money: moneyOf({ run, attempts, progress, now }),
    report: report && shortOf(report),
  };
  return { ...ok(body), headers: { etag: etagOf({ run, attempts, timeline, progress, since, now }) } };
}

interface Known {
  readonly run: RunRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly timeline: readonly TimelineEntry[];
  readonly progress: Progress | undefined;
  readonly since: string | undefined;
  readonly now: Date;
}

/** Of what is on record. Money that grows steadily is no news: its rate is in the answer that the caller has. */
function etagOf({ run, attempts, timeline, progress, since, now }: Known): string {
  const moment = FINISHED.includes(run.status) ? 0 : Math.floor(now.getTime() / MOMENT_MILLISECONDS);
  const newest = attempts.map(({ attempt, status, updatedAt }) => [attempt, status, updatedAt]);
  const known = [run, newest, timeline.length, timeline.at(-1)?.id, progress, since, moment];
  return `"${hash('sha256', JSON.stringify(known), 'base64url')}"`;
}

const shortened = (text: string): string =>
  text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)} …` : text;

function summaryOf(attempt: AttemptRecord) {
  const { attempt: number, jobName, launcher, status, createdAt, updatedAt, startedAt, log } = attempt;
  const { placement, progressAfter: saved, recall, outcome } = attempt;
  return {
    attempt: number,
    jobName,
    launcher,
    status,
    createdAt,
    updatedAt,
    startedAt,
    log,
    placement: {
      pool: placement.pool,
      topology: placement.topology,
      decidedAt: placement.decidedAt,
      onDemandHourlyUsd: placement.onDemandHourlyUsd,
      helpersHourlyUsd: placement.helpersHourlyUsd,
    },
    progressAfter: saved && {
      step: saved.step,
      totalSteps: saved.totalSteps,
      unit: saved.unit,
      checkpoint: saved.checkpoint,
      updatedAt: saved.updatedAt,
    },
    beganAt: beganAt(attempt),
    recall: recall && { ...recall, why: shortened(recall.why) },
    outcome: outcome && {
      kind: outcome.kind,
      message: shortened(outcome.message),
      startedAt: outcome.startedAt,
      scriptStartedAt: outcome.scriptStartedAt,
      endedAt: outcome.endedAt,
      trainingSeconds: outcome.trainingSeconds,
      interruptions: outcome.interruptions,
    },
    costUsd: outcome && attemptCost(attempt),
  };
}

export async function listAttempts(
  deps: RunDeps,
  { parameters }: RequestOf<'GET /runs/{runId}/attempts'>,
): AnswerOf<'GET /runs/{runId}/attempts'> {
  const runId = parameters['runId'] ?? '';
  if ((await deps.runs.get(runId)) === undefined) return noRun(runId);
  const attempts = await deps.attempts.list(runId);
  return ok({ attempts: attempts.map(shownAttempt) });
}

/**
 * A task token lets its holder answer for the training job: it never leaves the service. The table of the placement has
 * an answer of its own.
 */
function shownAttempt({ taskToken: _taskToken, placement, ...attempt }: AttemptRecord) {
  const { considered: _considered, ...chosen } = placement;
  return { ...attempt, placement: chosen };
}

export async function getTimeline(
  deps: RunDeps,
  { parameters }: RequestOf<'GET /runs/{runId}/timeline'>,
): AnswerOf<'GET /runs/{runId}/timeline'> {
  const runId = parameters['runId'] ?? '';
  if ((await deps.runs.get(runId)) === undefined) return noRun(runId);
  return ok({ timeline: await deps.timeline.list(runId) });
}

/** Of the attempts, whose records are small, and of what was decided for the next one. */
export async function listPlacements(
  deps: RunDeps,
  { parameters }: RequestOf<'GET /runs/{runId}/placements'>,
): AnswerOf<'GET /runs/{runId}/placements'> {
  const runId = parameters['runId'] ?? '';
  if ((await deps.runs.get(runId)) === undefined) return noRun(runId);
  const attempts = await deps.attempts.list(runId);
  const { tell, said } = steppedOver();
  const next = await deps.placements
    .get(runId, (attempts.at(-1)?.attempt ?? 0) + 1)
    .catch(leftOut(runId, tell));
  const launched = attempts.map((attempt) => {
    const { placement } = shownAttempt(attempt);
    return { attempt: attempt.attempt, kind: 'launch' as const, reason: placement.reason, placement };
  });
  if (next === undefined) return ok({ placements: launched, ...said() });
  const { attempt, decision } = next;
  const { kind } = decision;
  if (decision.kind !== 'launch')
    return ok({ placements: [...launched, { attempt, kind, reason: decision.reason }] });
  const { considered: _considered, ...placement } = decision.placement;
  return ok({ placements: [...launched, { attempt, kind, reason: placement.reason, placement }] });
}

export async function getPlacement(
  deps: RunDeps,
  { parameters }: RequestOf<'GET /runs/{runId}/placements/{attempt}'>,
): AnswerOf<'GET /runs/{runId}/placements/{attempt}'> {
  const { runId = '', attempt = '' } = parameters;
  if ((await deps.runs.get(runId)) === undefined) return noRun(runId);
  const stored = await storedPlacementOf(deps, runId, attempt);
  if (stored === undefined) return noPlacement(runId, attempt);
  // Its stored question is large, and for deciding again.
  const { question: _question, ...decision } = stored.decision;
  return ok({ attempt: stored.attempt, decision });
}

export async function getReport(
  deps: RunDeps,
  { parameters }: RequestOf<'GET /runs/{runId}/report'>,
): AnswerOf<'GET /runs/{runId}/report'> {
  const runId = parameters['runId'] ?? '';
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  const report = await reportOf(deps, run);
  if (report !== undefined) return ok(report);
  return FINISHED.includes(run.status)
    ? problem(404, `the report of ${runId} is not there, or cannot be read`)
    : problem(
        404,
        `${runId} has no report yet: it comes at its end, and GET /runs/${runId} has its money so far`,
      );
}

/** What the script printed or logged, as one curve over all attempts. */
export async function getSeries(
  deps: RunDeps,
  { parameters, query }: RequestOf<'GET /runs/{runId}/series'>,
): AnswerOf<'GET /runs/{runId}/series'> {
  const runId = parameters['runId'] ?? '';
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  const all = await readSeries(deps.store, run.pipeline, runId);
  const named = query.name === undefined ? all : all.filter(({ name }) => name === query.name);
  // Lambda's answer holds 6 MB.
  const share = Math.max(2, Math.min(query.points, Math.floor(MOST_POINTS / Math.max(1, named.length))));
  const series = named.map(({ points, lost, ...each }) => ({
    ...each,
    pointCount: points.length,
    points: thinned(points, share),
    lost: thinned(lost, share),
  }));
  return ok({ series });
}

function shortOf({
  timeline: _timeline,
  generations: _generations,
  rejected: _rejected,
  speeds: _speeds,
  ...report
}: RunReport) {
  const attempts = report.attempts.map(({ attempt, outcome, lostSeconds, costUsd }) => ({
    attempt,
    outcome,
    lostSeconds,
    costUsd,
  }));
  return { ...report, failure: report.failure && shortened(report.failure), attempts };
}

/**
 * The report of an earlier end says nothing of a run that goes on.
 * @throws UnreadableRecordError
 */
const reportOf = async ({ store }: Pick<RunDeps, 'store'>, run: RunRecord): Promise<RunReport | undefined> =>
  isOpenAgain(run) ? undefined : readReport(store, run);
