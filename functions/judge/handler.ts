import * as z from 'zod';
import { attemptServices, region } from '../aws/lambda/attempt-services.ts';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { judgeRun } from '../core/attempts/judge-run.ts';

const input = z.object({ runId: z.string(), timedOut: z.boolean().optional() });

export const handler = lambdaHandler('judge', input, async ({ runId, timedOut }) => {
  return judgeRun({ ...attemptServices(), regionOf: region }, { runId, timedOut });
});
