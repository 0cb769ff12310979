import * as z from 'zod';
import { lambdaHandler, logger, withinLimit } from '../../aws/lambda/lambda-handler.ts';
import { openBlobStore } from '../../aws/s3/open-store.ts';
import { config } from '../../aws/shared/config.ts';
import { expireRuns } from '../../run/attempts/expire-runs.ts';
import { clock, executions, tableStores } from '../../wiring/services.ts';

/** Below the function's timeout by more than one page of a thousand objects takes. */
const BUDGET_SECONDS = 780;
/** Hundreds of thousands of objects. The next pass deletes the others. */
const RUN_SECONDS = 240;

export const handler = lambdaHandler('expire-runs', z.object({}), async () => {
  const until = clock.now().getTime() + BUDGET_SECONDS * 1_000;
  await using opened = await openBlobStore({ bucket: config.bucket() });
  const done = await expireRuns({
    runs: tableStores().runs,
    store: opened.store,
    executions: executions(),
    clock,
    withinLimit: (work) => withinLimit(work, RUN_SECONDS),
    isTimeUp: () => clock.now().getTime() >= until,
  });
  if (done.failures.length > 0) logger.error('could not expire everything', { failures: done.failures });
  return done;
});
