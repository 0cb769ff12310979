/** API Gateway's event and answer, payload format 2.0, as far as they are used. */
import * as z from 'zod';
import type { ApiRequest, ApiResponse } from './shared/answers.ts';
import { nameOf } from './shared/people.ts';

export const httpEvent = z.object({
  routeKey: z.string(),
  pathParameters: z.record(z.string(), z.string()).nullish(),
  queryStringParameters: z.record(z.string(), z.string()).nullish(),
  /** Their names are in lower case. */
  headers: z.record(z.string(), z.string()).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().optional(),
  stageVariables: z.record(z.string(), z.string()).nullish(),
  requestContext: z
    .object({
      authorizer: z
        .object({
          iam: z.object({ userArn: z.string().nullish() }).nullish(),
          jwt: z.object({ claims: z.record(z.string(), z.unknown()).nullish() }).nullish(),
        })
        .nullish(),
    })
    .optional(),
});

type HttpEvent = z.output<typeof httpEvent>;

export function requestIn(event: HttpEvent): ApiRequest {
  const body = event.body ?? '';
  return {
    route: event.routeKey,
    parameters: event.pathParameters ?? {},
    query: event.queryStringParameters ?? {},
    ...callerIn(event),
    headers: event.headers ?? undefined,
    body: event.isBase64Encoded ? Buffer.from(body, 'base64').toString() : body,
  };
}

function callerIn({ requestContext, stageVariables }: HttpEvent): Pick<ApiRequest, 'caller' | 'claims'> {
  const { iam, jwt } = requestContext?.authorizer ?? {};
  // serverless/people-api.cjs sets the variable. Without claims a person has no role.
  if (jwt == null && stageVariables?.['callers'] !== 'people') return { caller: iam?.userArn ?? undefined };
  const claims = jwt?.claims ?? {};
  return { caller: nameOf(claims), claims };
}

export const resultOf = ({ status, headers, body }: ApiResponse) => ({
  statusCode: status,
  headers: { ...headers, 'content-type': 'application/json' },
  ...(body !== null && { body: JSON.stringify(body) }),
});
