import { planShards } from '@tidewheel/packing/plan.ts';
import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { config } from '../../aws/shared/config.ts';
import { withPacking } from '../../wiring/packing-context.ts';

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
