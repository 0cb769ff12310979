import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, executions, tableStores } from '../aws/lambda/services.ts';
import { startNextExecution } from '../core/attempts/next-execution.ts';

const input = z.object({ runId: z.string(), execution: z.string() });

export const handler = lambdaHandler('start-next-execution', input, async ({ runId, execution }) => {
  await startNextExecution({ ...tableStores(), executions: executions(), clock }, { runId, execution });
  return { runId };
});
