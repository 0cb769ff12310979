/** An operation of the API, described and answered in one place. */

import { type Checked, check } from '@tidewheel/kit/validation.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import * as z from 'zod';
import type { LogReader } from '../../records/run-log.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import type { RetryDeps } from '../../run/attempts/retry-run.ts';
import type { RegisterDeps } from '../../run/ingest/register-pipeline.ts';
import type { ModelDeps } from '../../run/models/decide-models.ts';
import { type ApiRequest, type ApiResponse, noRun, type Refusal, refused } from './answers.ts';
import { type Fence, fenceIn } from './fence-headers.ts';
import type { PeopleRoles, Role } from './people.ts';

/** What an operation is to its callers. */
export interface Described {
  /** Method and path template, such as `PUT /pipelines/{name}`. */
  readonly route: string;
  /** Name of the method in a client. */
  readonly id: string;
  /** One sentence in the present tense. */
  readonly summary: string;
  readonly role: Role;
  readonly query: z.ZodObject;
  readonly body?: RequestBody;
  readonly status: 200 | 202;
  readonly answer: z.ZodType;
  /** Beside 400, 403 and 429, which every operation may answer. */
  readonly refusals: readonly (404 | 409)[];
  /** money: what runs may cost can grow by it; loss: it ends or removes something, or changes which model is in use. */
  readonly risk?: 'money' | 'loss';
}

export interface RequestBody {
  readonly schema: z.ZodType;
  readonly required: boolean;
  /** Beside JSON. */
  readonly yaml?: true;
}

const noQuery = z.strictObject({});

export const READS = { role: 'viewer', query: noQuery, status: 200, refusals: [] } as const;
export const CHANGES = { role: 'operator', query: noQuery, status: 200, refusals: [404, 409] } as const;

/** What the operations need together. Each takes of it what it uses. */
export interface ApiDeps
  extends Pick<Stores, 'placements' | 'marketSamples' | 'poolOutcomes' | 'hardware'>,
    ModelDeps,
    RegisterDeps,
    RetryDeps {
  readonly logs: LogReader;
  /** Reads ranges of shards; opened when a call needs it. */
  readonly blobs: () => Promise<BlobStore>;
  readonly people: PeopleRoles;
  /** In a dry run: takes what the change would mean, as a sentence without its point. */
  readonly preview?: (sentence: string) => void;
}

/** Names in braces: `runId` of `GET /runs/{runId}`. */
export type PathNames<Route extends string> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

type PathParameters<Route extends string> = { readonly [Name in PathNames<Route>]: string };

/** A request whose query and path were checked. The body is its text. */
interface RequestOf<D extends Described> {
  readonly parameters: PathParameters<D['route']>;
  readonly query: z.output<D['query']>;
  readonly body: string;
  readonly caller: string;
  readonly fence: Fence | undefined;
}

/** As its schema has it, or a refusal. */
type AnswerOf<D extends Described> = Promise<ApiResponse<z.input<D['answer']>> | Refusal>;

type Handler<D extends Described, Deps, More = unknown> = (
  deps: Deps,
  request: RequestOf<D> & More,
) => AnswerOf<D>;

export interface Operation extends Described {
  readonly respond: (deps: ApiDeps, request: ApiRequest) => Promise<ApiResponse>;
}

export const defineOperation = <const D extends Described>(described: D, handler: Handler<D, ApiDeps>) => ({
  ...described,
  respond: answering(described, handler),
});

/** For routes of one run, which is read before. */
export const defineRunOperation = <const D extends Described>(
  described: D,
  handler: Handler<D, ApiDeps, { readonly run: RunRecord }>,
) => ({
  ...described,
  respond: async (deps: ApiDeps, request: ApiRequest): Promise<ApiResponse> => {
    const { runId = '' } = request.parameters;
    const answer = answering<D, ApiDeps>(described, async (_, checked) => {
      const run = await deps.runs.get(runId);
      return run === undefined ? noRun(runId) : handler(deps, { ...checked, run });
    });
    return answer(deps, request);
  },
});

/** Checks the query before the answer. */
export const answering =
  <const D extends Described, Deps>(described: D, handler: Handler<D, Deps>) =>
  async (
    deps: Deps,
    { parameters, query: given, body, caller = 'an unknown caller', headers }: ApiRequest,
  ): Promise<ApiResponse> => {
    const fence = fenceIn({ headers });
    if (fence !== undefined && 'status' in fence) return fence;
    const query = check<D['query']>(described.query, given, 'shown');
    if (!query.ok) return refused('the query is not valid', query.problems);
    if (!hasAll<D['route']>(described.route, parameters))
      throw new Error(`${described.route} came without its path`);
    return handler(deps, { parameters, query: query.value, body, caller, fence });
  };

const hasAll = <Route extends string>(
  route: Route,
  parameters: Readonly<Record<string, string>>,
): parameters is PathParameters<Route> =>
  [...route.matchAll(/\{(\w+)\}/g)].every(([, name = '']) => Object.hasOwn(parameters, name));

/** A body of JSON. An empty one is an empty object. */
export function jsonBodyOf<T>(schema: z.ZodType<T>, body: string): Checked<T> {
  try {
    return check(schema, body.trim() === '' ? {} : JSON.parse(body), 'shown');
  } catch {
    return {
      ok: false,
      problems: [{ path: '', message: 'the body is no JSON: send an object, or nothing' }],
    };
  }
}
