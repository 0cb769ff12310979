import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { config } from '../aws/shared/config.ts';
import { planShards } from '../core/packing/plan/plan-shards.ts';

const input = z.object({
  runId: z.string(),
  pipeline: z.string(),
  /** Replaces the plan of another release. */
  replaceOutdated: z.boolean().optional(),
});

export const handler = lambdaHandler('plan-shards', input, ({ runId, replaceOutdated }) =>
  withPacking(runId, async ({ store, ...run }) => ({
    ...(await planShards({ store, now: () => new Date() }, { ...run, replaceOutdated })),
    packers: config.packers(),
  })),
);
