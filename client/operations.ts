/** The operations of the HTTP API for a caller. Their types follow from the schemas in functions/api; no schema is loaded. */

import type { problemSchema } from '@tidewheel/kit/fields.ts';
import type * as z from 'zod';
import type { OPERATIONS as described } from '../functions/api/operation-table.ts';
import type { PathNames } from '../functions/api/shared/operation.ts';

type Described = (typeof described)[number];

type Simplify<T> = { [Key in keyof T]: T[Key] };

/** A schema without fields has an index signature, which would let every parameter pass. */
type QueryOf<Query> = {
  readonly [Name in keyof z.input<Query & z.ZodType> as string extends Name ? never : Name]?:
    | string
    | number
    | undefined;
};

type InputBody<Of> = Of extends { readonly body: infer Body }
  ? Body extends { readonly schema: infer Schema extends z.ZodType; readonly required: true }
    ? z.input<Schema>
    : Body extends { readonly schema: infer Schema extends z.ZodType }
      ? z.input<Schema> | undefined
      : never
  : undefined;

export type Operations = {
  [One in Described as One['id']]: {
    readonly parameters: Simplify<
      { readonly [Name in PathNames<One['route']>]: string } & QueryOf<One['query']>
    >;
    readonly body: InputBody<One>;
    readonly answer: z.output<One['answer']>;
  };
};

export type AnswerOf<Id extends keyof Operations> = Operations[Id]['answer'];
export type BodyOf<Id extends keyof Operations> = NonNullable<Operations[Id]['body']>;
export type Problem = z.output<typeof problemSchema>;

/** An entry that differs from its route does not compile. */
export const OPERATIONS: {
  readonly [One in Described as One['id']]: One['route'] extends `${infer Method} ${infer Path}`
    ? { readonly method: Method; readonly path: Path }
    : never;
} = {
  listPipelines: { method: 'GET', path: '/pipelines' },
  getPipeline: { method: 'GET', path: '/pipelines/{name}' },
  putPipeline: { method: 'PUT', path: '/pipelines/{name}' },
  deletePipeline: { method: 'DELETE', path: '/pipelines/{name}' },
  listPipelineRuns: { method: 'GET', path: '/pipelines/{name}/runs' },
  startRun: { method: 'POST', path: '/pipelines/{name}/runs' },
  listProbes: { method: 'GET', path: '/pipelines/{name}/probes' },
  startProbe: { method: 'POST', path: '/pipelines/{name}/probes' },
  listRuns: { method: 'GET', path: '/runs' },
  getRun: { method: 'GET', path: '/runs/{runId}' },
  listAttempts: { method: 'GET', path: '/runs/{runId}/attempts' },
  getTimeline: { method: 'GET', path: '/runs/{runId}/timeline' },
  listPlacements: { method: 'GET', path: '/runs/{runId}/placements' },
  getPlacement: { method: 'GET', path: '/runs/{runId}/placements/{attempt}' },
  getReport: { method: 'GET', path: '/runs/{runId}/report' },
  getSeries: { method: 'GET', path: '/runs/{runId}/series' },
  getUtilisation: { method: 'GET', path: '/runs/{runId}/utilisation' },
  getLog: { method: 'GET', path: '/runs/{runId}/log' },
  stopRun: { method: 'POST', path: '/runs/{runId}/stop' },
  retryRun: { method: 'POST', path: '/runs/{runId}/retry' },
  acknowledgeRun: { method: 'PUT', path: '/runs/{runId}/acknowledgement' },
  annotateRun: { method: 'PUT', path: '/runs/{runId}/annotation' },
  putLimits: { method: 'PUT', path: '/runs/{runId}/limits' },
  getWhatIf: { method: 'GET', path: '/runs/{runId}/what-if/{attempt}' },
  getDataset: { method: 'GET', path: '/pipelines/{name}/dataset' },
  getGeneration: { method: 'GET', path: '/pipelines/{name}/dataset/{generation}' },
  getImage: { method: 'GET', path: '/pipelines/{name}/dataset/{generation}/image' },
  putPin: { method: 'PUT', path: '/pipelines/{name}/dataset/pin' },
  listModels: { method: 'GET', path: '/models' },
  getModels: { method: 'GET', path: '/pipelines/{name}/models' },
  getModel: { method: 'GET', path: '/runs/{runId}/model' },
  chooseModel: { method: 'POST', path: '/pipelines/{name}/models' },
  evaluateModel: { method: 'POST', path: '/pipelines/{name}/evaluations' },
  compareRuns: { method: 'GET', path: '/compare' },
  getMarket: { method: 'GET', path: '/market' },
  getMoney: { method: 'GET', path: '/money' },
  deleteCheckpoints: { method: 'DELETE', path: '/runs/{runId}/checkpoints' },
  planRun: { method: 'POST', path: '/plan' },
  getOpenApi: { method: 'GET', path: '/openapi.json' },
};
