import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { judgeRun } from '../../run/attempts/judge-run.ts';
import { attemptServices, region } from '../../wiring/attempt-services.ts';

const input = z.object({ runId: z.string(), timedOut: z.boolean().optional() });

export const handler = lambdaHandler('judge', input, async ({ runId, timedOut }) => {
  return judgeRun({ ...attemptServices(), regionOf: region }, { runId, timedOut });
});
