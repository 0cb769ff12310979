import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock } from '../aws/lambda/services.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { deletePacked } from '../core/packing/seal/delete-packed.ts';

const input = z.object({ runId: z.string(), pipeline: z.string() });

/** Below the function's timeout by more than the deletes between two bookmarks take. */
const BUDGET_SECONDS = 600;

export const handler = lambdaHandler('delete-packed', input, ({ runId, pipeline }) => {
  const until = clock.now().getTime() + BUDGET_SECONDS * 1_000;
  return withPacking(runId, ({ store }) =>
    deletePacked({ store, isTimeUp: () => clock.now().getTime() >= until }, { runId, pipeline }),
  );
});
