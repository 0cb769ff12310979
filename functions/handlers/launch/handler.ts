import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { config } from '../../aws/shared/config.ts';
import { launchAttempt } from '../../run/attempts/launch-attempt.ts';
import { attemptServices, otherRegion, publishAgent, starters } from '../../wiring/attempt-services.ts';
import { objects } from '../../wiring/services.ts';

const input = z.object({
  runId: z.string(),
  attempt: z.number().int().min(1),
  taskToken: z.string().min(1).max(2_048),
});

export const handler = lambdaHandler('launch', input, async (launch) => {
  return launchAttempt(
    {
      ...attemptServices(),
      starters: starters(),
      publishAgent: publishAgent(),
      otherRegion,
      blobs: objects().blobs,
      region: config.region(),
    },
    launch,
  );
});
