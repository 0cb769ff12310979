/** The API over a ground in memory, as an HTTP server: its own rules answer, and nothing is deployed. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { answer } from '../../../functions/api/answer.ts';
import { OPERATIONS } from '../../../functions/api/operation-table.ts';
import { planRun } from '../../../functions/api/operations/plan-run.ts';
import { answerPlan, type PlanDeps } from '../../../functions/api/plan/answer-plan.ts';
import type { ApiResponse } from '../../../functions/api/shared/answers.ts';
import type { ApiDeps } from '../../../functions/api/shared/operation.ts';

export interface ApiServer {
  readonly url: string;
  /** `Authorization` of each call. */
  readonly signatures: string[];
  /** What it answers instead, such as a refusal. */
  instead: ApiResponse | undefined;
  at: ApiDeps;
  /** Absent: there is no `POST /plan`. */
  plan?: PlanDeps;
  stop(): void;
}

/** @param caller as whom every call counts */
export async function startApi(at: ApiDeps, caller: string): Promise<ApiServer> {
  const server = createServer((request, response) => {
    api.signatures.push(request.headers.authorization ?? '');
    void text(request)
      .then((body) =>
        answerTo(api, {
          method: request.method ?? '',
          address: request.url ?? '',
          body,
          caller,
          headers: headersOf(request.headers),
        }),
      )
      .then(({ status, headers, body }) =>
        response.writeHead(status, { ...headers }).end(JSON.stringify(body)),
      );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api: ApiServer = {
    url: urlOf(server),
    signatures: [],
    instead: undefined,
    at,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return api;
}

function urlOf(of: Server): string {
  const address = of.address();
  if (address === null || typeof address === 'string') throw new Error('it does not listen');
  return `http://127.0.0.1:${address.port}`;
}

interface Call {
  readonly method: string;
  readonly address: string;
  readonly body: string;
  readonly caller: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Without those that may come several times. */
const headersOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );

async function answerTo(api: ApiServer, { method, address, ...call }: Call): Promise<ApiResponse> {
  if (api.instead !== undefined) return api.instead;
  const url = new URL(address, 'http://api');
  const query = Object.fromEntries(url.searchParams);
  const { route, parameters } = routed(method, url.pathname);
  if (route === planRun.route && api.plan !== undefined)
    return answerPlan(api.plan, { route, parameters, query, ...call });
  return answer(api.at, { route, parameters, query, ...call });
}

/** As API Gateway matches a call with its routes: a part of the path in braces takes anything. */
function routed(method: string, path: string) {
  const parts = path.split('/');
  for (const { route } of OPERATIONS) {
    const [verb, template = ''] = route.split(' ');
    const wanted = template.split('/');
    if (verb !== method || wanted.length !== parts.length) continue;
    const named = wanted.map((part, place) => [/^\{(\w+)\}$/.exec(part)?.[1], parts[place] ?? ''] as const);
    if (named.some(([name, given], place) => name === undefined && given !== wanted[place])) continue;
    const parameters = named.flatMap(([name, given]) =>
      name === undefined ? [] : [[name, decodeURIComponent(given)] as const],
    );
    return { route, parameters: Object.fromEntries(parameters) };
  }
  return { route: `${method} ${path}`, parameters: {} };
}
