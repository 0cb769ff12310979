/** The answers of the HTTP API, as values. functions/api turns them into responses. */

import { hash } from 'node:crypto';
import { pipelineNameProblem } from '@tidewheel/declaration/pipeline.ts';
import { OPERATIONS } from './operation-table.ts';
import { type ApiRequest, type ApiResponse, problem } from './shared/answers.ts';
import { orDryRun } from './shared/dry-run.ts';
import { roleRefusal, whileAwsAnswers } from './shared/failures.ts';
import type { ApiDeps, Operation } from './shared/operation.ts';
import { LONGEST_NAME } from './shared/query-text.ts';

/** Without the one that another function answers. */
const ANSWERED: readonly Operation[] = OPERATIONS.filter((operation) => 'respond' in operation);

export const API_ROUTES: readonly string[] = ANSWERED.map(({ route }) => route);

export async function answer(deps: ApiDeps, request: ApiRequest): Promise<ApiResponse> {
  const operation = ANSWERED.find(({ route }) => route === request.route);
  if (operation === undefined)
    return problem(404, `there is no route ${request.route}: docs/api.md lists the routes`);
  const refusal = roleRefusal(deps, request, operation.role);
  if (refusal !== undefined) return refusal;
  const long = Object.entries(request.parameters).find(([, value]) => value.length > LONGEST_NAME);
  if (long !== undefined)
    return problem(400, `${long[0]} has ${long[1].length} characters: at most ${LONGEST_NAME}`);
  const name = request.parameters['name'];
  const nameProblem = name === undefined ? undefined : pipelineNameProblem(name);
  if (nameProblem !== undefined)
    return problem(400, `name is "${name ?? ''}", which cannot name a pipeline: ${nameProblem}`);
  return whileAwsAnswers(async () =>
    operation.role === 'viewer'
      ? withETag(request, await operation.respond(deps, request))
      : orDryRun(deps, request, (ports) => operation.respond(ports, request)),
  );
}

/** A caller that still has the answer gets no body. */
function withETag({ route, headers: asked }: ApiRequest, response: ApiResponse): ApiResponse {
  if (response.status !== 200 || !route.startsWith('GET ')) return response;
  const etag =
    response.headers?.['etag'] ?? `"${hash('sha256', JSON.stringify(response.body), 'base64url')}"`;
  // A proxy that compresses may have marked it as weak. https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2
  const known = (asked?.['if-none-match'] ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  const headers = { ...response.headers, etag, 'cache-control': 'private, no-cache' };
  return known.includes(etag) ? { status: 304, headers, body: null } : { ...response, headers };
}
