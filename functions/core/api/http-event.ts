/** API Gateway's event and answer, payload format 2.0, as far as they are used. */
import * as z from 'zod';
import type { ApiRequest, ApiResponse } from './answers.ts';

export const httpEvent = z.object({
  routeKey: z.string(),
  pathParameters: z.record(z.string(), z.string()).nullish(),
  queryStringParameters: z.record(z.string(), z.string()).nullish(),
  /** Their names are in lower case. */
  headers: z.record(z.string(), z.string()).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().optional(),
  requestContext: z
    .object({
      authorizer: z.object({ iam: z.object({ userArn: z.string().nullish() }).nullish() }).nullish(),
    })
    .optional(),
});

export function requestIn(event: z.output<typeof httpEvent>): ApiRequest {
  const body = event.body ?? '';
  return {
    route: event.routeKey,
    parameters: event.pathParameters ?? {},
    query: event.queryStringParameters ?? {},
    caller: event.requestContext?.authorizer?.iam?.userArn ?? undefined,
    ifNoneMatch: event.headers?.['if-none-match'],
    body: event.isBase64Encoded ? Buffer.from(body, 'base64').toString() : body,
  };
}

export const resultOf = ({ status, headers, body }: ApiResponse) => ({
  statusCode: status,
  headers: { ...headers, 'content-type': 'application/json' },
  ...(body !== null && { body: JSON.stringify(body) }),
});
