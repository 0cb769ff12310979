import { deletePacked } from '@tidewheel/packing/maintain.ts';
import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { withPacking } from '../../wiring/packing-context.ts';
import { clock } from '../../wiring/services.ts';

const input = z.object({ runId: z.string(), pipeline: z.string() });

/** Below the function's timeout by more than the deletes between two bookmarks take. */
const BUDGET_SECONDS = 600;

export const handler = lambdaHandler('delete-packed', input, ({ runId, pipeline }) => {
  const until = clock.now().getTime() + BUDGET_SECONDS * 1_000;
  return withPacking(runId, ({ store }) =>
    deletePacked({ store, isTimeUp: () => clock.now().getTime() >= until }, { runId, pipeline }),
  );
});
