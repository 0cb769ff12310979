/** The answers of the HTTP API, as values. functions/api turns them into responses. */
import * as z from 'zod';
import { REPORT_VERSION } from '../attempts/report.ts';
import { isOpenAgain } from '../attempts/retry-run.ts';
import { readAllowedDeclaration } from '../ingest/allowed.ts';
import { type RegisterDeps, registerPipeline } from '../ingest/register-pipeline.ts';
import { wakeRun } from '../ingest/wake.ts';
import { pipelineNameProblem } from '../pipeline/pipeline.ts';
import { pastScheduleProblems } from '../pipeline/schedule.ts';
import { readProgress } from '../runs/progress.ts';
import { readSeries, thinned } from '../runs/series.ts';
import type { Stores } from '../runs/stores.ts';
import { awsErrorClass } from '../shared/aws-error-class.ts';
import { type Problem, StoredVersionError } from '../shared/errors.ts';
import { bucketKeys } from '../shared/keys.ts';
import { type ApiRequest, type ApiResponse, noRun, ok, problem } from './answers.ts';
import { pageOf, requestedPage } from './paging.ts';
import { type Route, routeOf } from './routes.ts';
import { postRetry, postStop, putLimits } from './steering.ts';

export interface ApiDeps extends RegisterDeps, Pick<Stores, 'attempts' | 'placements' | 'timeline'> {}

/** The SDK has waited and tried again before it reports a throttle. */
const RETRY_AFTER_SECONDS = 2;

const ANSWERS: Readonly<Record<Route, (deps: ApiDeps, request: ApiRequest) => Promise<ApiResponse>>> = {
  'GET /pipelines': listPipelines,
  'GET /pipelines/{name}': getPipeline,
  'PUT /pipelines/{name}': putPipeline,
  'DELETE /pipelines/{name}': deletePipeline,
  'GET /pipelines/{name}/runs': listRuns,
  'POST /pipelines/{name}/runs': startRun,
  'GET /runs/{runId}': getRun,
  'GET /runs/{runId}/series': getSeries,
  'POST /runs/{runId}/stop': postStop,
  'POST /runs/{runId}/retry': postRetry,
  'PUT /runs/{runId}/limits': putLimits,
};

export async function answer(deps: ApiDeps, request: ApiRequest): Promise<ApiResponse> {
  const route = routeOf(request.route);
  if (route === undefined)
    return problem(404, `there is no route ${request.route}: docs/api.md lists the routes`);
  const name = request.parameters['name'];
  const nameProblem = name === undefined ? undefined : pipelineNameProblem(name);
  if (nameProblem !== undefined)
    return problem(400, `name is "${name ?? ''}", which cannot name a pipeline: ${nameProblem}`);
  try {
    return await ANSWERS[route](deps, request);
  } catch (error: unknown) {
    if (error instanceof StoredVersionError) return problem(409, error.message);
    if (awsErrorClass(error) === 'throttle') return throttled;
    throw error;
  }
}

/** Every call is idempotent, so the same call is the remedy. */
const throttled: ApiResponse = {
  ...problem(429, `AWS throttles the service: make the same call again in ${RETRY_AFTER_SECONDS} s`),
  headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
};

const noPipeline = (name: string): ApiResponse =>
  problem(404, `there is no pipeline "${name}": declare it with PUT /pipelines/${name}`);

async function getPipeline({ pipelines, store }: ApiDeps, { parameters }: ApiRequest): Promise<ApiResponse> {
  const name = parameters['name'] ?? '';
  const [record, stored] = await Promise.all([
    pipelines.get(name),
    store.readText(bucketKeys.pipeline(name)),
  ]);
  if (stored === undefined) return noPipeline(name);
  return ok({ ...record, name, declaration: stored.text });
}

/** The body is the declaration in YAML or JSON. Only a valid one is stored. */
async function putPipeline(deps: ApiDeps, { parameters, body }: ApiRequest): Promise<ApiResponse> {
  const name = parameters['name'] ?? '';
  const declaration = declarationOf(deps, name, body);
  const problems = declaration.valid
    ? pastScheduleProblems(declaration.pipeline, deps.clock.now())
    : declaration.problems;
  if (problems.length > 0) return problem(400, `the declaration of "${name}" is not valid`, problems);
  await deps.store.writeText(bucketKeys.pipeline(name), body);
  const registered = await registerPipeline(deps, name);
  if (registered.kind === 'invalid')
    return problem(400, `the declaration of "${name}" is stored, but not valid`, registered.problems);
  return ok({ name, ...registered });
}

/** Runs that train finish, and all data stays. */
async function deletePipeline(deps: ApiDeps, { parameters }: ApiRequest): Promise<ApiResponse> {
  const name = parameters['name'] ?? '';
  const key = bucketKeys.pipeline(name);
  const isDeclared = (await deps.store.readText(key)) !== undefined;
  if (isDeclared) await deps.store.delete(key);
  const record = await deps.pipelines.get(name);
  // A second call also ends what the first one, which may have died, did not reach.
  if (!isDeclared && (record === undefined || record.removedAt !== undefined)) return noPipeline(name);
  return ok({ name, ...(await registerPipeline(deps, name)) });
}

async function listPipelines({ pipelines }: ApiDeps, { query }: ApiRequest): Promise<ApiResponse> {
  const page = requestedPage('pipelines', query, 100);
  if ('problem' in page) return problem(400, page.problem);
  const found = await pipelines.list({ ...page, limit: page.limit + 1 });
  const { items, ...next } = pageOf('pipelines', { found, limit: page.limit }, ({ name }) => name);
  return ok({ pipelines: items, ...next });
}

async function listRuns(deps: ApiDeps, { parameters, query }: ApiRequest): Promise<ApiResponse> {
  const name = parameters['name'] ?? '';
  const list = `runs of ${name}`;
  const page = requestedPage(list, query, 20);
  if ('problem' in page) return problem(400, page.problem);
  const found = await deps.runs.list(name, page.limit + 1, page.after);
  // Runs outlive their pipeline's declaration.
  if (found.length === 0 && (await deps.store.readText(bucketKeys.pipeline(name))) === undefined)
    return noPipeline(name);
  const { items, ...next } = pageOf(list, { found, limit: page.limit }, ({ runId }) => runId);
  return ok({ runs: items, ...next });
}

async function startRun(deps: ApiDeps, { parameters }: ApiRequest): Promise<ApiResponse> {
  const name = parameters['name'] ?? '';
  const stored = await deps.store.readText(bucketKeys.pipeline(name));
  if (stored === undefined) return noPipeline(name);
  const declaration = checkStored(deps, name, stored.text);
  if (declaration.length > 0)
    return problem(
      409,
      `the stored declaration of "${name}" is not valid: correct it with PUT /pipelines/${name}`,
      declaration,
    );
  const woken = await wakeRun(deps, { pipeline: name, trigger: 'api' });
  return woken.kind === 'ignored' ? problem(409, woken.reason) : { status: 202, body: woken };
}

const declarationOf = (deps: ApiDeps, name: string, text: string) =>
  readAllowedDeclaration({ ...deps, bucket: deps.store.bucket }, name, text);

function checkStored(deps: ApiDeps, name: string, text: string): readonly Problem[] {
  const declaration = declarationOf(deps, name, text);
  return declaration.valid ? [] : declaration.problems;
}

/** Everything known about a run: the live view while it runs, and the report after its end. */
async function getRun(deps: ApiDeps, { parameters }: ApiRequest): Promise<ApiResponse> {
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
  // A task token lets its holder answer for the training job: it never leaves the service.
  const shown = attempts.map(({ taskToken: _taskToken, ...attempt }) => attempt);
  // Readers get the table of a decision. Its stored question is for `npm run explain`.
  const tables = placements.map(({ attempt, decision: { question: _question, ...decision } }) => ({
    attempt,
    decision,
  }));
  // The report of an earlier end says nothing of a run that goes on.
  const ended = isOpenAgain(run) ? undefined : reportIn(report?.text);
  return ok({ run, attempts: shown, placements: tables, timeline, progress, report: ended });
}

/** What the script printed or logged, as one curve over all attempts. */
async function getSeries(deps: ApiDeps, { parameters, query }: ApiRequest): Promise<ApiResponse> {
  const runId = parameters['runId'] ?? '';
  const most = seriesPoints.safeParse(query['points']);
  if (!most.success)
    return problem(400, `points is "${query['points']}": use a whole number from 2 to ${MOST_POINTS}`);
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  const all = await readSeries(deps.store, run.pipeline, runId);
  const named = query['name'] === undefined ? all : all.filter(({ name }) => name === query['name']);
  // Lambda's answer holds 6 MB.
  const share = Math.max(2, Math.min(most.data, Math.floor(MOST_POINTS / Math.max(1, named.length))));
  const series = named.map(({ points, lost, ...each }) => ({
    ...each,
    pointCount: points.length,
    points: thinned(points, share),
    lost: thinned(lost, share),
  }));
  return ok({ series });
}

const MOST_POINTS = 20_000;
const USUAL_POINTS = 500;
const seriesPoints = z.coerce.number().int().min(2).max(MOST_POINTS).default(USUAL_POINTS);

/** @throws StoredVersionError */
function reportIn(text: string | undefined): unknown {
  const report = parse(text);
  if (typeof report !== 'object' || report === null) return undefined;
  const found = 'version' in report ? report.version : undefined;
  if (found === REPORT_VERSION) return report;
  throw new StoredVersionError('the report of this run', { found, read: REPORT_VERSION });
}

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
