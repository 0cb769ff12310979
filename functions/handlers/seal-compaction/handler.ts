import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { sealRunCompaction } from '../../run/attempts/seal-run-compaction.ts';
import { withPacking } from '../../wiring/packing-context.ts';
import { clock, tableStores } from '../../wiring/services.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), generation: z.string() });

export const handler = lambdaHandler('seal-compaction', input, (joined) =>
  sealRunCompaction({ ...tableStores(), clock, withPacking }, joined),
);
