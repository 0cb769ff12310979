/** The answers of the HTTP API, as values. functions/api turns them into responses. */
import { hash } from 'node:crypto';
import { check } from '@tidewheel/kit/validation.ts';
import type * as z from 'zod';
import { pipelineNameProblem } from '../pipeline/pipeline.ts';
import {
  type AnswerOf,
  type ApiRequest,
  type ApiResponse,
  ok,
  problem,
  type RequestOf,
  refused,
} from './answers.ts';
import { deleteCheckpoints } from './checkpoints.ts';
import { type CompareDeps, getComparison } from './compare.ts';
import { type DatasetDeps, getDataset, getGeneration, getImage } from './dataset.ts';
import { whileAwsAnswers, whyNot } from './failures.ts';
import { listPipelineRuns, listRuns } from './list-runs.ts';
import { getLog, type LogDeps } from './log.ts';
import { getMarket, type MarketDeps } from './market.ts';
import { getMoney, type MoneyDeps } from './money.ts';
import { openApiDocument } from './open-api.ts';
import { type ApiRoute, isApiRoute, OPERATIONS, type Operations } from './operations.ts';
import type { PeopleRoles } from './people.ts';
import { putPin } from './pin.ts';
import { deletePipeline, getPipeline, listPipelines, type PipelineDeps, putPipeline } from './pipelines.ts';
import { listProbes, postProbe } from './probes.ts';
import {
  getPlacement,
  getReport,
  getRun,
  getSeries,
  getTimeline,
  listAttempts,
  listPlacements,
  type RunDeps,
} from './runs.ts';
import { type StartDeps, startRun } from './start-run.ts';
import { postRetry, postStop, putLimits, type SteeringDeps } from './steering.ts';
import { getUtilisation, type UtilisationDeps } from './utilisation.ts';
import { getWhatIf, type WhatIfDeps } from './what-if.ts';

export interface ApiDeps
  extends PipelineDeps,
    RunDeps,
    SteeringDeps,
    StartDeps,
    LogDeps,
    DatasetDeps,
    MarketDeps,
    MoneyDeps,
    UtilisationDeps,
    WhatIfDeps,
    CompareDeps {
  readonly people: PeopleRoles;
}

type Responses = {
  readonly [R in ApiRoute]: (deps: ApiDeps, request: RequestOf<R>) => AnswerOf<R>;
};

const RESPONSES: Responses = {
  'GET /pipelines': listPipelines,
  'GET /pipelines/{name}': getPipeline,
  'PUT /pipelines/{name}': putPipeline,
  'DELETE /pipelines/{name}': deletePipeline,
  'GET /pipelines/{name}/runs': listPipelineRuns,
  'POST /pipelines/{name}/runs': startRun,
  'GET /pipelines/{name}/probes': listProbes,
  'POST /pipelines/{name}/probes': postProbe,
  'GET /runs/{runId}': getRun,
  'GET /runs': listRuns,
  'GET /runs/{runId}/attempts': listAttempts,
  'GET /runs/{runId}/timeline': getTimeline,
  'GET /runs/{runId}/placements': listPlacements,
  'GET /runs/{runId}/placements/{attempt}': getPlacement,
  'GET /runs/{runId}/report': getReport,
  'GET /runs/{runId}/series': getSeries,
  'GET /runs/{runId}/utilisation': getUtilisation,
  'GET /runs/{runId}/log': getLog,
  'POST /runs/{runId}/stop': postStop,
  'POST /runs/{runId}/retry': postRetry,
  'PUT /runs/{runId}/limits': putLimits,
  'GET /runs/{runId}/what-if/{attempt}': getWhatIf,
  'GET /pipelines/{name}/dataset': getDataset,
  'GET /pipelines/{name}/dataset/{generation}': getGeneration,
  'GET /pipelines/{name}/dataset/{generation}/image': getImage,
  'PUT /pipelines/{name}/dataset/pin': putPin,
  'GET /compare': getComparison,
  'GET /market': getMarket,
  'GET /money': getMoney,
  'DELETE /runs/{runId}/checkpoints': deleteCheckpoints,
  'GET /openapi.json': async () => ok(openApiDocument()),
};

type QueryOf<R extends ApiRoute> = z.output<Operations[R]['query']>;
const QUERIES: { readonly [R in ApiRoute]: { readonly query: z.ZodType<QueryOf<R>> } } = OPERATIONS;

/** Checks the query before the answer. */
async function respond<R extends ApiRoute>(
  route: R,
  deps: ApiDeps,
  request: ApiRequest,
): Promise<ApiResponse> {
  const query = check(QUERIES[route].query, request.query, 'shown');
  return query.ok
    ? RESPONSES[route](deps, { ...request, query: query.value })
    : refused('the query is not valid', query.problems);
}

export async function answer(deps: ApiDeps, request: ApiRequest): Promise<ApiResponse> {
  const { route } = request;
  if (!isApiRoute(route)) return problem(404, `there is no route ${route}: docs/api.md lists the routes`);
  const refusal = whyNot(deps, request, OPERATIONS[route].role);
  if (refusal !== undefined) return refusal;
  const name = request.parameters['name'];
  const nameProblem = name === undefined ? undefined : pipelineNameProblem(name);
  if (nameProblem !== undefined)
    return problem(400, `name is "${name ?? ''}", which cannot name a pipeline: ${nameProblem}`);
  return whileAwsAnswers(async () => withETag(request, await respond(route, deps, request)));
}

/** A caller that still has the answer gets no body. */
function withETag({ route, ifNoneMatch }: ApiRequest, response: ApiResponse): ApiResponse {
  if (response.status !== 200 || !route.startsWith('GET ')) return response;
  const etag =
    response.headers?.['etag'] ?? `"${hash('sha256', JSON.stringify(response.body), 'base64url')}"`;
  // A proxy that compresses may have marked it as weak. https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2
  const known = (ifNoneMatch ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  const headers = { ...response.headers, etag, 'cache-control': 'private, no-cache' };
  return known.includes(etag) ? { status: 304, headers, body: null } : { ...response, headers };
}
