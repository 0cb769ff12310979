/**
 * The routes of the HTTP API, each a method and a path template. The function's description gives them to API Gateway,
 * and api.ts must have an answer for each.
 */
export const ROUTES = [
  'GET /pipelines',
  'GET /pipelines/{name}',
  'PUT /pipelines/{name}',
  'DELETE /pipelines/{name}',
  'GET /pipelines/{name}/runs',
  'POST /pipelines/{name}/runs',
  'GET /runs/{runId}',
  'GET /runs/{runId}/series',
  'POST /runs/{runId}/stop',
  'POST /runs/{runId}/retry',
  'PUT /runs/{runId}/limits',
] as const;
export type Route = (typeof ROUTES)[number];

/** @returns the route, or undefined for a text that names none */
export const routeOf = (text: string): Route | undefined => ROUTES.find((route) => route === text);
