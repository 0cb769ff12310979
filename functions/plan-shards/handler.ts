import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { config } from '../aws/shared/config.ts';
import { planShards } from '../core/packing/plan/plan-shards.ts';
import { datasetSettings } from '../core/pipeline/dataset.ts';

const input = z.object({
  runId: z.string(),
  pipeline: z.string(),
  /** Replaces the plan of another release. */
  replaceOutdated: z.boolean().optional(),
});

export const handler = lambdaHandler('plan-shards', input, ({ runId, pipeline, replaceOutdated }) =>
  withPacking(runId, async ({ store, packing, readers, settleMarker, notifiedSince, dataset }) => ({
    ...(await planShards(
      { store, now: () => new Date() },
      {
        runId,
        pipeline,
        packing,
        readers,
        replaceOutdated,
        settleMarker,
        notifiedSince,
        onChange: datasetSettings(dataset).onChange,
        onDelete: datasetSettings(dataset).onDelete,
      },
    )),
    packers: config.packers(),
  })),
);
