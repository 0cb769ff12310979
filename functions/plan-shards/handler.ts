import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import {
  compactionWanted,
  NOTHING_TO_COMPACT,
  planCompaction,
} from '../core/packing/compaction/plan-compaction.ts';
import { planShards } from '../core/packing/plan/plan-shards.ts';

/**
 * `compact`: plan to join small generations, instead of packing new arrivals.
 * `replaceOutdated`: replace the plan of another release.
 */
const input = z.object({
  runId: z.string(),
  pipeline: z.string(),
  compact: z.boolean().optional(),
  replaceOutdated: z.boolean().optional(),
});

export const handler = lambdaHandler('plan-shards', input, ({ runId, pipeline, compact, replaceOutdated }) =>
  withPacking(runId, async ({ store, packing, readers, settleMarker, dataset }) => {
    if (compact !== true)
      return planShards(
        { store, now: () => new Date() },
        { runId, pipeline, packing, readers, replaceOutdated, settleMarker },
      );
    const wanted = compactionWanted(dataset);
    return wanted === undefined
      ? NOTHING_TO_COMPACT
      : planCompaction(store, { pipeline, packing, readers, ...wanted });
  }),
);
