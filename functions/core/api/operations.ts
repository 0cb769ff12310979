/**
 * The operations of the HTTP API, by route: a method and a path template. The function's description gives the routes to
 * API Gateway, api.ts has an answer for each, and open-api.ts makes the document of them.
 */
import * as z from 'zod';
import { reportSchema } from '../attempts/report.ts';
import { writtenSchema } from '../pipeline/tuning.ts';
import { compareAnswer, compareQuery } from './schemas/compare.ts';
import * as dataset from './schemas/dataset.ts';
import { logAnswer, logQuery } from './schemas/log.ts';
import { marketAnswer, marketQuery } from './schemas/market.ts';
import { moneyAnswer, moneyQuery } from './schemas/money.ts';
import { noQuery, type Operation } from './schemas/operation.ts';
import { pageQuery } from './schemas/page.ts';
import * as pipelines from './schemas/pipelines.ts';
import { storedPlacement } from './schemas/placements.ts';
import { planAnswer, planBody } from './schemas/plan.ts';
import * as probes from './schemas/probes.ts';
import * as runs from './schemas/runs.ts';
import { seriesAnswer, seriesQuery } from './schemas/series.ts';
import * as steering from './schemas/steering.ts';
import { utilisationAnswer, utilisationQuery } from './schemas/utilisation.ts';
import { whatIfAnswer, whatIfQuery } from './schemas/what-if.ts';

const READS = { role: 'viewer', query: noQuery, status: 200, refusals: [] } as const;
const CHANGES = { role: 'operator', query: noQuery, status: 200, refusals: [404, 409] } as const;

export const OPERATIONS = {
  'GET /pipelines': {
    ...READS,
    id: 'listPipelines',
    summary: 'Lists pipelines by name.',
    query: pageQuery(100),
    answer: pipelines.pipelineList,
  },
  'GET /pipelines/{name}': {
    ...READS,
    id: 'getPipeline',
    summary: 'Shows a pipeline: its declaration, its problems and its open batch.',
    answer: pipelines.pipelineAnswer,
    refusals: [404],
  },
  'PUT /pipelines/{name}': {
    ...CHANGES,
    id: 'putPipeline',
    summary: 'Declares a pipeline. Only a valid declaration is stored.',
    body: { schema: writtenSchema, required: true, yaml: true },
    answer: pipelines.storedPipeline,
    refusals: [],
  },
  'DELETE /pipelines/{name}': {
    ...CHANGES,
    id: 'deletePipeline',
    summary: 'Deletes the declaration and ends its schedule. Runs and data stay.',
    answer: pipelines.deletedPipeline,
    refusals: [404],
  },
  'GET /pipelines/{name}/runs': {
    ...READS,
    id: 'listPipelineRuns',
    summary: 'Lists the runs of a pipeline, newest first.',
    query: pageQuery(20),
    answer: runs.runList,
    refusals: [404],
  },
  'POST /pipelines/{name}/runs': {
    ...CHANGES,
    id: 'startRun',
    summary: 'Starts the run of the open batch, as declared, with changes, or as an earlier run.',
    body: { schema: steering.startBody, required: false },
    status: 202,
    answer: pipelines.startedRun,
  },
  'GET /pipelines/{name}/probes': {
    ...READS,
    id: 'listProbes',
    summary: 'Lists the probes of a pipeline, newest first, with the speed that was measured.',
    query: pageQuery(20),
    answer: probes.probeList,
    refusals: [404],
  },
  'POST /pipelines/{name}/probes': {
    ...CHANGES,
    id: 'startProbe',
    summary: 'Starts a short trial of other settings on the sealed dataset.',
    body: { schema: probes.probeBody, required: true },
    status: 202,
    answer: probes.startedProbe,
  },
  'GET /runs': {
    ...READS,
    id: 'listRuns',
    summary: 'Lists the runs of all pipelines, newest first.',
    query: runs.runsQuery,
    answer: runs.runList,
  },
  'GET /runs/{runId}': {
    ...READS,
    id: 'getRun',
    summary: 'Shows a run: its attempts, its progress, its money so far and to come.',
    query: runs.runQuery,
    answer: runs.runAnswer,
    refusals: [404, 409],
  },
  'GET /runs/{runId}/attempts': {
    ...READS,
    id: 'listAttempts',
    summary: 'Shows all that is known of the attempts of a run.',
    answer: runs.attemptList,
    refusals: [404],
  },
  'GET /runs/{runId}/timeline': {
    ...READS,
    id: 'getTimeline',
    summary: 'Shows the whole timeline of a run.',
    answer: runs.timelineAnswer,
    refusals: [404],
  },
  'GET /runs/{runId}/placements': {
    ...READS,
    id: 'listPlacements',
    summary: 'Lists where each attempt of a run was placed, and why.',
    answer: runs.placementList,
    refusals: [404],
  },
  'GET /runs/{runId}/placements/{attempt}': {
    ...READS,
    id: 'getPlacement',
    summary: 'Shows the placement of an attempt with every pool that was weighed.',
    answer: storedPlacement,
    refusals: [404],
  },
  'GET /runs/{runId}/report': {
    ...READS,
    id: 'getReport',
    summary: 'Shows the report of an ended run.',
    answer: reportSchema,
    refusals: [404, 409],
  },
  'GET /runs/{runId}/series': {
    ...READS,
    id: 'getSeries',
    summary: 'Shows what the script printed or logged, as one curve over all attempts.',
    query: seriesQuery,
    answer: seriesAnswer,
    refusals: [404],
  },
  'GET /runs/{runId}/utilisation': {
    id: 'getUtilisation',
    summary: "Shows how busy the hosts of all attempts were, and the doctor's verdicts.",
    role: 'viewer',
    query: utilisationQuery,
    status: 200,
    answer: utilisationAnswer,
    refusals: [404],
  },
  'GET /runs/{runId}/log': {
    ...READS,
    id: 'getLog',
    summary: 'Shows what the hosts of all attempts printed, as one stream, by pages or to follow.',
    query: logQuery,
    answer: logAnswer,
    refusals: [404],
  },
  'POST /runs/{runId}/stop': {
    ...CHANGES,
    id: 'stopRun',
    summary: 'Ends a run, after a save or now.',
    body: { schema: steering.stopBody, required: false },
    status: 202,
    answer: steering.stopAnswer,
  },
  'POST /runs/{runId}/retry': {
    ...CHANGES,
    id: 'retryRun',
    summary: 'Lets a failed or stopped run go on from its newest checkpoint.',
    body: { schema: steering.retryBody, required: false },
    status: 202,
    answer: steering.retryAnswer,
  },
  'PUT /runs/{runId}/limits': {
    ...CHANGES,
    id: 'putLimits',
    summary: 'Changes limits of a run that has not ended.',
    body: { schema: steering.limitsBody, required: true },
    answer: steering.limitsAnswer,
  },
  'GET /runs/{runId}/what-if/{attempt}': {
    ...READS,
    id: 'getWhatIf',
    summary: 'Decides the placement of an attempt again, with something changed. Nothing is started.',
    query: whatIfQuery,
    answer: whatIfAnswer,
    refusals: [404, 409],
  },
  'GET /pipelines/{name}/dataset': {
    ...READS,
    id: 'getDataset',
    summary: 'Lists the versions and generations of a dataset.',
    answer: dataset.datasetAnswer,
    refusals: [404],
  },
  'GET /pipelines/{name}/dataset/{generation}': {
    ...READS,
    id: 'getGeneration',
    summary: 'Shows the classes of a generation, what it rejected, and its first samples.',
    answer: dataset.generationAnswer,
    refusals: [404, 409],
  },
  'GET /pipelines/{name}/dataset/{generation}/image': {
    ...READS,
    id: 'getImage',
    summary: 'Shows an image of a generation, or one that it rejected.',
    query: dataset.imageQuery,
    answer: dataset.imageAnswer,
    refusals: [404, 409],
  },
  'PUT /pipelines/{name}/dataset/pin': {
    ...CHANGES,
    id: 'putPin',
    summary: 'Pins a version of the dataset in the stored declaration, or takes the pin out.',
    body: { schema: dataset.pinBody, required: true },
    answer: dataset.pinAnswer,
  },
  'GET /compare': {
    ...READS,
    id: 'compareRuns',
    summary: 'Shows runs side by side: speed, utilisation, and dollars until the same metric.',
    query: compareQuery,
    answer: compareAnswer,
    refusals: [404],
  },
  'GET /market': {
    ...READS,
    id: 'getMarket',
    summary: 'Shows scores and prices of the pools that pipelines may use, and what attempts met there.',
    query: marketQuery,
    answer: marketAnswer,
  },
  'GET /money': {
    ...READS,
    id: 'getMoney',
    summary: 'Sums up what the runs of a month cost, by pipeline, day and pool.',
    query: moneyQuery,
    answer: moneyAnswer,
  },
  'DELETE /runs/{runId}/checkpoints': {
    ...CHANGES,
    id: 'deleteCheckpoints',
    summary: 'Deletes the checkpoints of an ended run before their time.',
    status: 202,
    answer: steering.deletionAnswer,
  },
  'POST /plan': {
    ...READS,
    id: 'planRun',
    summary: 'Says what the next run of a declaration would do, cost and miss. Nothing is started.',
    body: { schema: planBody, required: true },
    answer: planAnswer,
    refusals: [404, 409],
  },
  'GET /openapi.json': {
    ...READS,
    id: 'getOpenApi',
    summary: 'Shows this document.',
    answer: z.record(z.string(), z.unknown()),
  },
} as const satisfies Readonly<Record<string, Operation>>;

export type Operations = typeof OPERATIONS;
export type Route = keyof Operations;

export const isRoute = (text: string): text is Route => Object.hasOwn(OPERATIONS, text);
/** A function of its own answers it: it looks at the account, where the others have no business. */
export const PLAN_ROUTE = 'POST /plan';
export type ApiRoute = Exclude<Route, typeof PLAN_ROUTE>;

/** In the order of the document. */
export const ROUTES: readonly Route[] = Object.keys(OPERATIONS).filter(isRoute);
export const isApiRoute = (text: string): text is ApiRoute => isRoute(text) && text !== PLAN_ROUTE;
export const API_ROUTES: readonly ApiRoute[] = ROUTES.filter(isApiRoute);
