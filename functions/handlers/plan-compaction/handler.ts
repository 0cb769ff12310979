import { compactionWanted, planCompaction } from '@tidewheel/packing/compact.ts';
import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { config } from '../../aws/shared/config.ts';
import { withPacking } from '../../wiring/packing-context.ts';

const input = z.object({ runId: z.string(), pipeline: z.string() });

export const handler = lambdaHandler('plan-compaction', input, ({ runId, pipeline }) =>
  withPacking(runId, async ({ store, packing, readers, dataset }) => ({
    ...(await planCompaction(store, { pipeline, packing, readers, ...compactionWanted(dataset) })),
    packers: config.packers(),
  })),
);
