import * as z from 'zod';
import { attemptServices } from '../aws/lambda/attempt-services.ts';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { reportRun } from '../core/attempts/report-run.ts';
import { verdictOf } from '../core/attempts/verdict.ts';

const input = z.object({
  runId: z.string(),
  /** A placement's choice has no reason of its own; this function must take whatever state comes before an error. */
  judgement: z.object({ kind: z.string(), reason: z.string().default('') }).optional(),
  /** What a Catch of the state machine keeps of a failed state. */
  error: z.object({ Error: z.string(), Cause: z.string().optional() }).optional(),
});

export const handler = lambdaHandler('report', input, async ({ runId, judgement, error }) => {
  const services = attemptServices();
  const report = await reportRun(services, runId, verdictOf({ judgement, error }));
  const whenDone = (await services.runs.get(runId))?.declaration?.packing.whenDone ?? 'keep';
  return { status: report.status, failure: report.failure ?? '', whenDone };
});
