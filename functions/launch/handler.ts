import * as z from 'zod';
import { config } from '../aws/config.ts';
import { onion } from '../aws/onion.ts';
import { away, clock, executions, launcher, notifier, publishAgent, runs, store } from '../aws/services.ts';
import { launchAttempt } from '../core/launch-attempt.ts';

const input = z.object({
  runId: z.string(),
  attempt: z.number().int().min(1),
  taskToken: z.string().min(1).max(2_048),
});

export const handler = onion('launch', input, async (launch) => {
  return launchAttempt(
    {
      runs: runs(),
      store: store(),
      launcher: launcher(),
      executions: executions(),
      notifier: notifier(),
      clock,
      publishAgent: publishAgent(),
      elsewhere: away,
      region: config.region(),
      trainingRoleArn: config.trainingRoleArn(),
      hostProfileArn: config.hostProfileArn(),
      hostLogGroup: config.hostLogGroup(),
    },
    launch,
  );
});
