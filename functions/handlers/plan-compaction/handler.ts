import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { config } from '../../aws/shared/config.ts';
import { planRunCompaction } from '../../run/attempts/plan-run-compaction.ts';
import { withPacking } from '../../wiring/packing-context.ts';
import { clock, store, tableStores } from '../../wiring/services.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), draws: z.boolean().default(false) });

export const handler = lambdaHandler('plan-compaction', input, async (run) => ({
  ...(await planRunCompaction({ ...tableStores(), store: store(), clock, withPacking }, run)),
  packers: config.packers(),
}));
