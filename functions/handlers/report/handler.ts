import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { endRun } from '../../run/attempts/report-run.ts';
import { attemptServices } from '../../wiring/attempt-services.ts';

const input = z.object({
  runId: z.string(),
  /** A placement's choice has no reason of its own; this function must take whatever state comes before an error. */
  judgement: z.object({ kind: z.string(), reason: z.string().default('') }).optional(),
  /** What a Catch of the state machine keeps of a failed state. */
  error: z.object({ Error: z.string(), Cause: z.string().optional() }).optional(),
});

export const handler = lambdaHandler('report', input, (ended) => endRun(attemptServices(), ended));
