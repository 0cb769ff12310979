/** Compares what the API answers with its own schemas. */
import { expect } from 'vitest';
import type { ApiResponse } from '../../functions/core/api/answers.ts';
import { isRoute, OPERATIONS } from '../../functions/core/api/operations.ts';
import { refusalSchema } from '../../functions/core/api/schemas/operation.ts';

/** The body has every field that its schema requires, and none that the schema does not know. */
export function expectAsDescribed(route: string, { status, body }: ApiResponse): void {
  if (!isRoute(route)) return expect(status).toBe(404);
  const { answer, status: usual, refusals } = OPERATIONS[route];
  const sent: unknown = body === null ? null : JSON.parse(JSON.stringify(body));
  if (status === 304) return expect(body).toBeNull();
  const schema = status === usual ? answer : refusalSchema;
  if (status !== usual) expect([400, 429, ...refusals]).toContain(status);
  expect(schema.parse(sent)).toEqual(sent);
}
