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
 * `compact`: plan the joining of small generations instead of the packing of what arrived.
 * `anew`: in the place of a plan of another release.
 */
const input = z.object({
  runId: z.string(),
  pipeline: z.string(),
  compact: z.boolean().optional(),
  anew: z.boolean().optional(),
});

export const handler = lambdaHandler('plan-shards', input, ({ runId, pipeline, compact, anew }) =>
  withPacking(runId, async ({ store, packing, readers, settleMarker, dataset }) => {
    if (compact !== true)
      return planShards(
        { store, now: () => new Date() },
        { runId, pipeline, packing, readers, anew, settleMarker },
      );
    const wanted = compactionWanted(dataset);
    return wanted === undefined
      ? NOTHING_TO_COMPACT
      : planCompaction(store, { pipeline, packing, readers, ...wanted });
  }),
);
