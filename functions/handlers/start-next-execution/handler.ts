import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { startNextExecution } from '../../run/attempts/next-execution.ts';
import { clock, executions, tableStores } from '../../wiring/services.ts';

const input = z.object({ runId: z.string(), execution: z.string() });

export const handler = lambdaHandler('start-next-execution', input, async ({ runId, execution }) => {
  await startNextExecution({ ...tableStores(), executions: executions(), clock }, { runId, execution });
  return { runId };
});
