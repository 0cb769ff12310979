import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { inParallel } from '../../aws/s3/parallel-lists.ts';
import { config } from '../../aws/shared/config.ts';
import { incomingLookSchema, settleRun } from '../../run/ingest/settle-run.ts';
import { clock, store, tableStores } from '../../wiring/services.ts';

const input = z.object({ runId: z.string(), observation: incomingLookSchema.nullish() });

export const handler = lambdaHandler('settle', input, async ({ runId, observation }) => {
  return settleRun(
    { ...tableStores(), store: inParallel(store()), clock, allowed: config.allowed() },
    { runId, observation: observation ?? undefined },
  );
});
