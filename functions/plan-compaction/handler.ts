import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { config } from '../aws/shared/config.ts';
import {
  compactionWanted,
  NOTHING_TO_COMPACT,
  planCompaction,
} from '../core/packing/compaction/plan-compaction.ts';

const input = z.object({ runId: z.string(), pipeline: z.string() });

export const handler = lambdaHandler('plan-compaction', input, ({ runId, pipeline }) =>
  withPacking(runId, async ({ store, packing, readers, dataset }) => {
    const wanted = compactionWanted(dataset);
    return wanted === undefined
      ? NOTHING_TO_COMPACT
      : {
          ...(await planCompaction(store, { pipeline, packing, readers, ...wanted })),
          packers: config.packers(),
        };
  }),
);
