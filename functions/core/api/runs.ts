/** The answers about runs. */
import { REPORT_VERSION, type RunReport } from '../attempts/report.ts';
import { isOpenAgain } from '../attempts/retry-run.ts';
import { readProgress } from '../runs/progress.ts';
import type { AttemptRecord } from '../runs/run-records.ts';
import { readSeries, thinned } from '../runs/series.ts';
import type { Stores } from '../runs/stores.ts';
import { StoredVersionError } from '../shared/errors.ts';
import { bucketKeys } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { type AnswerOf, noPipeline, noRun, ok, problem, type RequestOf } from './answers.ts';
import { pageOf, requestedPage } from './paging.ts';
import { MOST_POINTS } from './schemas/series.ts';

export interface RunDeps extends Pick<Stores, 'runs' | 'attempts' | 'placements' | 'timeline'> {
  readonly store: ObjectStore;
}

export async function listPipelineRuns(
  deps: RunDeps,
  { parameters, query }: RequestOf<'GET /pipelines/{name}/runs'>,
): AnswerOf<'GET /pipelines/{name}/runs'> {
  const name = parameters['name'] ?? '';
  const list = `runs of ${name}`;
  const page = requestedPage(list, query);
  if ('problem' in page) return problem(400, page.problem);
  const found = await deps.runs.list(name, page.limit + 1, page.after);
  // Runs outlive their pipeline's declaration.
  if (found.length === 0 && (await deps.store.readText(bucketKeys.pipeline(name))) === undefined)
    return noPipeline(name);
  const { items, ...next } = pageOf(list, { found, limit: page.limit }, ({ runId }) => runId);
  return ok({ runs: items, ...next });
}

/** Everything known about a run: the live view while it runs, and the report after its end. */
export async function getRun(
  deps: RunDeps,
  { parameters }: RequestOf<'GET /runs/{runId}'>,
): AnswerOf<'GET /runs/{runId}'> {
  const { store } = deps;
  const runId = parameters['runId'] ?? '';
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  const [attempts, placements, timeline, progress, report] = await Promise.all([
    deps.attempts.list(runId),
    deps.placements.list(runId),
    deps.timeline.list(runId),
    readProgress(store, run.pipeline, runId),
    store.readText(bucketKeys.report(run.pipeline, runId)),
  ]);
  // Readers get the table of a decision. Its stored question is for `tidewheel why`.
  const tables = placements.map(({ attempt, decision: { question: _question, ...decision } }) => ({
    attempt,
    decision,
  }));
  // The report of an earlier end says nothing of a run that goes on.
  const ended = isOpenAgain(run) ? undefined : reportIn(report?.text);
  return ok({
    run,
    attempts: attempts.map(shownAttempt),
    placements: tables,
    timeline,
    progress,
    report: ended,
  });
}

/**
 * A task token lets its holder answer for the training job: it never leaves the service. The table of the placement has
 * an answer of its own.
 */
function shownAttempt({ taskToken: _taskToken, placement, ...attempt }: AttemptRecord) {
  const { considered: _considered, ...chosen } = placement;
  return { ...attempt, placement: chosen };
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

/** @throws StoredVersionError */
function reportIn(text: string | undefined): RunReport | undefined {
  const report = parse(text);
  if (typeof report !== 'object' || report === null) return undefined;
  if (isReport(report)) return report;
  const found = 'version' in report ? report.version : undefined;
  throw new StoredVersionError('the report of this run', { found, read: REPORT_VERSION });
}

/** The service alone writes reports, so the version tells the fields. */
const isReport = (value: object): value is RunReport =>
  'version' in value && value.version === REPORT_VERSION;

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
