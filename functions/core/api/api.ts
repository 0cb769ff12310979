/** The answers of the HTTP API, as values. functions/api turns them into responses. */
import { hash } from 'node:crypto';
import type * as z from 'zod';
import { pipelineNameProblem } from '../pipeline/pipeline.ts';
import { awsErrorClass } from '../shared/aws-error-class.ts';
import { StoredVersionError } from '../shared/errors.ts';
import { check } from '../shared/validation.ts';
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
import { listPipelineRuns, listRuns } from './list-runs.ts';
import { getLog, type LogDeps } from './log.ts';
import { getMarket, type MarketDeps } from './market.ts';
import { getMoney, type MoneyDeps } from './money.ts';
import { openApiDocument } from './open-api.ts';
import { isRoute, OPERATIONS, type Operations, type Route } from './operations.ts';
import { may, type PeopleRoles, roleOf } from './people.ts';
import { putPin } from './pin.ts';
import {
  deletePipeline,
  getPipeline,
  listPipelines,
  type PipelineDeps,
  putPipeline,
  startRun,
} from './pipelines.ts';
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
import type { Role } from './schemas/operation.ts';
import { postRetry, postStop, putLimits, type SteeringDeps } from './steering.ts';
import { getUtilisation, type UtilisationDeps } from './utilisation.ts';
import { getWhatIf, type WhatIfDeps } from './what-if.ts';

export interface ApiDeps
  extends PipelineDeps,
    RunDeps,
    SteeringDeps,
    LogDeps,
    DatasetDeps,
    MarketDeps,
    MoneyDeps,
    UtilisationDeps,
    WhatIfDeps,
    CompareDeps {
  readonly people: PeopleRoles;
}

/** The SDK has waited and tried again before it reports a throttle. */
const RETRY_AFTER_SECONDS = 2;

type Responses = {
  readonly [R in Route]: (deps: ApiDeps, request: RequestOf<R>) => AnswerOf<R>;
};

const RESPONSES: Responses = {
  'GET /pipelines': listPipelines,
  'GET /pipelines/{name}': getPipeline,
  'PUT /pipelines/{name}': putPipeline,
  'DELETE /pipelines/{name}': deletePipeline,
  'GET /pipelines/{name}/runs': listPipelineRuns,
  'POST /pipelines/{name}/runs': startRun,
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

type QueryOf<R extends Route> = z.output<Operations[R]['query']>;
const QUERIES: { readonly [R in Route]: { readonly query: z.ZodType<QueryOf<R>> } } = OPERATIONS;

/** Checks the query before the answer. */
async function respond<R extends Route>(route: R, deps: ApiDeps, request: ApiRequest): Promise<ApiResponse> {
  const query = check(QUERIES[route].query, request.query, 'shown');
  return query.ok
    ? RESPONSES[route](deps, { ...request, query: query.value })
    : refused('the query is not valid', query.problems);
}

export async function answer(deps: ApiDeps, request: ApiRequest): Promise<ApiResponse> {
  const { route } = request;
  if (!isRoute(route)) return problem(404, `there is no route ${route}: docs/api.md lists the routes`);
  const refusal = whyNot(deps, request, OPERATIONS[route].role);
  if (refusal !== undefined) return refusal;
  const name = request.parameters['name'];
  const nameProblem = name === undefined ? undefined : pipelineNameProblem(name);
  if (nameProblem !== undefined)
    return problem(400, `name is "${name ?? ''}", which cannot name a pipeline: ${nameProblem}`);
  try {
    return withETag(request, await respond(route, deps, request));
  } catch (error: unknown) {
    if (error instanceof StoredVersionError) return problem(409, error.message);
    if (awsErrorClass(error) === 'throttle') return throttled;
    throw error;
  }
}

function whyNot({ people }: ApiDeps, { claims }: ApiRequest, needed: Role): ApiResponse | undefined {
  const role = claims === undefined ? 'operator' : roleOf(claims, people);
  if (may(role, needed)) return undefined;
  const has = role === undefined ? 'none' : `the role ${role}`;
  return problem(
    403,
    `this needs the role ${needed}, and your token has ${has}: docs/deploy.md#people says what gives it`,
  );
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

/** Every call is idempotent, so the same call is the remedy. */
const throttled: ApiResponse = {
  ...problem(429, `AWS throttles the service: make the same call again in ${RETRY_AFTER_SECONDS} s`),
  headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
};
