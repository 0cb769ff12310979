import * as z from 'zod';
import { onion } from '../aws/onion.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { planShards } from '../core/packing/plan.ts';

const input = z.object({ runId: z.string(), pipeline: z.string() });

export const handler = onion('plan-shards', input, ({ runId, pipeline }) =>
  withPacking(runId, ({ store, packing, settleMarker }) =>
    planShards({ store, now: () => new Date() }, { runId, pipeline, packing, settleMarker }),
  ),
);
