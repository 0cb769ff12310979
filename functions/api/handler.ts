import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, executions, objects, schedules, tableStores } from '../aws/lambda/services.ts';
import { config } from '../aws/shared/config.ts';
import { answer } from '../core/api/api.ts';

/** HTTP API payload format 2.0, as far as it is used. */
const input = z.object({
  routeKey: z.string(),
  pathParameters: z.record(z.string(), z.string()).nullish(),
  queryStringParameters: z.record(z.string(), z.string()).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().optional(),
  requestContext: z
    .object({
      authorizer: z.object({ iam: z.object({ userArn: z.string().nullish() }).nullish() }).nullish(),
    })
    .optional(),
});

export const handler = lambdaHandler('api', input, async (event) => {
  const { status, headers, body } = await answer(
    {
      ...tableStores(),
      ...objects(),
      executions: executions(),
      schedules: schedules(),
      clock,
      notifiedMarker: config.notifiedMarker(),
      allowed: config.allowed(),
    },
    {
      route: event.routeKey,
      parameters: event.pathParameters ?? {},
      query: event.queryStringParameters ?? {},
      caller: event.requestContext?.authorizer?.iam?.userArn ?? undefined,
      body: event.isBase64Encoded ? Buffer.from(event.body ?? '', 'base64').toString() : (event.body ?? ''),
    },
  );
  return {
    statusCode: status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
});
