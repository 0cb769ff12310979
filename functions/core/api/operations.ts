/**
 * The operations of the HTTP API, by route: a method and a path template. The function's description gives the routes to
 * API Gateway, api.ts has an answer for each, and open-api.ts makes the document of them.
 */
import * as z from 'zod';
import { pipelineSchema } from '../pipeline/pipeline.ts';
import * as dataset from './schemas/dataset.ts';
import { logAnswer, logQuery } from './schemas/log.ts';
import { marketAnswer, marketQuery } from './schemas/market.ts';
import { moneyAnswer, moneyQuery } from './schemas/money.ts';
import { noQuery, type Operation } from './schemas/operation.ts';
import { pageQuery } from './schemas/page.ts';
import * as pipelines from './schemas/pipelines.ts';
import { storedPlacement } from './schemas/placements.ts';
import * as runs from './schemas/runs.ts';
import { seriesAnswer, seriesQuery } from './schemas/series.ts';
import * as steering from './schemas/steering.ts';
import { whatIfAnswer, whatIfQuery } from './schemas/what-if.ts';

export const OPERATIONS = {
  'GET /pipelines': {
    id: 'listPipelines',
    summary: 'Lists pipelines by name.',
    role: 'viewer',
    query: pageQuery(100),
    status: 200,
    answer: pipelines.pipelineList,
    refusals: [],
  },
  'GET /pipelines/{name}': {
    id: 'getPipeline',
    summary: 'Shows a pipeline: its declaration, its problems and its open batch.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: pipelines.pipelineAnswer,
    refusals: [404],
  },
  'PUT /pipelines/{name}': {
    id: 'putPipeline',
    summary: 'Declares a pipeline. Only a valid declaration is stored.',
    role: 'operator',
    query: noQuery,
    body: { schema: pipelineSchema, required: true, yaml: true },
    status: 200,
    answer: pipelines.storedPipeline,
    refusals: [],
  },
  'DELETE /pipelines/{name}': {
    id: 'deletePipeline',
    summary: 'Deletes the declaration and ends its schedule. Runs and data stay.',
    role: 'operator',
    query: noQuery,
    status: 200,
    answer: pipelines.deletedPipeline,
    refusals: [404],
  },
  'GET /pipelines/{name}/runs': {
    id: 'listPipelineRuns',
    summary: 'Lists the runs of a pipeline, newest first.',
    role: 'viewer',
    query: pageQuery(20),
    status: 200,
    answer: runs.runList,
    refusals: [404],
  },
  'POST /pipelines/{name}/runs': {
    id: 'startRun',
    summary: 'Starts the run of the open batch. It trains even if nothing new arrived.',
    role: 'operator',
    query: noQuery,
    status: 202,
    answer: pipelines.startedRun,
    refusals: [404, 409],
  },
  'GET /runs': {
    id: 'listRuns',
    summary: 'Lists the runs of all pipelines, newest first.',
    role: 'viewer',
    query: runs.runsQuery,
    status: 200,
    answer: runs.runList,
    refusals: [],
  },
  'GET /runs/{runId}': {
    id: 'getRun',
    summary: 'Shows a run: its attempts, its progress, its money so far and to come.',
    role: 'viewer',
    query: runs.runQuery,
    status: 200,
    answer: runs.runAnswer,
    refusals: [404, 409],
  },
  'GET /runs/{runId}/attempts': {
    id: 'listAttempts',
    summary: 'Shows all that is known of the attempts of a run.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: runs.attemptList,
    refusals: [404],
  },
  'GET /runs/{runId}/timeline': {
    id: 'getTimeline',
    summary: 'Shows the whole timeline of a run.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: runs.timelineAnswer,
    refusals: [404],
  },
  'GET /runs/{runId}/placements': {
    id: 'listPlacements',
    summary: 'Lists where each attempt of a run was placed, and why.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: runs.placementList,
    refusals: [404],
  },
  'GET /runs/{runId}/placements/{attempt}': {
    id: 'getPlacement',
    summary: 'Shows the placement of an attempt with every pool that was weighed.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: storedPlacement,
    refusals: [404],
  },
  'GET /runs/{runId}/report': {
    id: 'getReport',
    summary: 'Shows the report of an ended run.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: runs.report,
    refusals: [404, 409],
  },
  'GET /runs/{runId}/series': {
    id: 'getSeries',
    summary: 'Shows what the script printed or logged, as one curve over all attempts.',
    role: 'viewer',
    query: seriesQuery,
    status: 200,
    answer: seriesAnswer,
    refusals: [404],
  },
  'GET /runs/{runId}/log': {
    id: 'getLog',
    summary: 'Shows what the hosts of all attempts printed, as one stream, by pages or to follow.',
    role: 'viewer',
    query: logQuery,
    status: 200,
    answer: logAnswer,
    refusals: [404],
  },
  'POST /runs/{runId}/stop': {
    id: 'stopRun',
    summary: 'Ends a run, after a save or now.',
    role: 'operator',
    query: noQuery,
    body: { schema: steering.stopBody, required: false },
    status: 202,
    answer: steering.stopAnswer,
    refusals: [404, 409],
  },
  'POST /runs/{runId}/retry': {
    id: 'retryRun',
    summary: 'Lets a failed or stopped run go on from its newest checkpoint.',
    role: 'operator',
    query: noQuery,
    body: { schema: steering.retryBody, required: false },
    status: 202,
    answer: steering.retryAnswer,
    refusals: [404, 409],
  },
  'PUT /runs/{runId}/limits': {
    id: 'putLimits',
    summary: 'Changes limits of a run that has not ended.',
    role: 'operator',
    query: noQuery,
    body: { schema: steering.limitsBody, required: true },
    status: 200,
    answer: steering.limitsAnswer,
    refusals: [404, 409],
  },
  'GET /runs/{runId}/what-if/{attempt}': {
    id: 'getWhatIf',
    summary: 'Decides the placement of an attempt again, with something changed. Nothing is started.',
    role: 'viewer',
    query: whatIfQuery,
    status: 200,
    answer: whatIfAnswer,
    refusals: [404, 409],
  },
  'GET /pipelines/{name}/dataset': {
    id: 'getDataset',
    summary: 'Lists the versions and generations of a dataset.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: dataset.datasetAnswer,
    refusals: [404],
  },
  'GET /pipelines/{name}/dataset/{generation}': {
    id: 'getGeneration',
    summary: 'Shows the classes of a generation, what it rejected, and its first samples.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: dataset.generationAnswer,
    refusals: [404, 409],
  },
  'GET /pipelines/{name}/dataset/{generation}/image': {
    id: 'getImage',
    summary: 'Shows an image of a generation, or one that it rejected.',
    role: 'viewer',
    query: dataset.imageQuery,
    status: 200,
    answer: dataset.imageAnswer,
    refusals: [404, 409],
  },
  'GET /market': {
    id: 'getMarket',
    summary: 'Shows scores and prices of the pools that pipelines may use, and what attempts met there.',
    role: 'viewer',
    query: marketQuery,
    status: 200,
    answer: marketAnswer,
    refusals: [],
  },
  'GET /money': {
    id: 'getMoney',
    summary: 'Sums up what the runs of a month cost, by pipeline, day and pool.',
    role: 'viewer',
    query: moneyQuery,
    status: 200,
    answer: moneyAnswer,
    refusals: [],
  },
  'DELETE /runs/{runId}/checkpoints': {
    id: 'deleteCheckpoints',
    summary: 'Deletes the checkpoints of an ended run before their time.',
    role: 'operator',
    query: noQuery,
    status: 202,
    answer: steering.deletionAnswer,
    refusals: [404, 409],
  },
  'GET /openapi.json': {
    id: 'getOpenApi',
    summary: 'Shows this document.',
    role: 'viewer',
    query: noQuery,
    status: 200,
    answer: z.record(z.string(), z.unknown()),
    refusals: [],
  },
} as const satisfies Readonly<Record<string, Operation>>;

export type Operations = typeof OPERATIONS;
export type Route = keyof Operations;

export const isRoute = (text: string): text is Route => Object.hasOwn(OPERATIONS, text);
/** In the order of the document. */
export const ROUTES: readonly Route[] = Object.keys(OPERATIONS).filter(isRoute);
