import * as z from 'zod';
import { onion } from '../aws/onion.ts';
import { clock, executions, launcher, notifier, region, runs, store } from '../aws/services.ts';
import { judgeRun } from '../core/judge-run.ts';

const input = z.object({ runId: z.string(), timedOut: z.boolean().optional() });

export const handler = onion('judge', input, async ({ runId, timedOut }) => {
  return judgeRun(
    {
      runs: runs(),
      store: store(),
      launcher: launcher(),
      executions: executions(),
      notifier: notifier(),
      clock,
      regionOf: region,
    },
    { runId, timedOut },
  );
});
