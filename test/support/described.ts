/** Compares what the API answers with its own schemas. */
import { expect } from 'vitest';
import { answer } from '../../functions/api/answer.ts';
import { OPERATIONS } from '../../functions/api/operation-table.ts';
import { type ApiRequest, type ApiResponse, refusalSchema } from '../../functions/api/shared/answers.ts';
import type { ApiDeps } from '../../functions/api/shared/operation.ts';

/** The body has every field that its schema requires, and none that the schema does not know. */
export function expectAsDescribed(route: string, { status, body }: ApiResponse): void {
  const operation = OPERATIONS.find((each) => each.route === route);
  if (operation === undefined) return expect(status).toBe(404);
  const { status: usual, refusals } = operation;
  const dryRun = 'risk' in operation ? [412] : [];
  const sent: unknown = body === null ? null : JSON.parse(JSON.stringify(body));
  if (status === 304) return expect(body).toBeNull();
  const schema = status === usual ? operation.answer : refusalSchema;
  if (status !== usual) expect([400, 429, ...dryRun, ...refusals]).toContain(status);
  expect(schema.parse(sent)).toEqual(sent);
}

/** Asks, and compares the answer with its schema. */
export async function askDescribed(deps: ApiDeps, route: string, over: Partial<ApiRequest> = {}) {
  const response = await answer(deps, { route, parameters: {}, query: {}, body: '', ...over });
  expectAsDescribed(route, response);
  return response;
}
