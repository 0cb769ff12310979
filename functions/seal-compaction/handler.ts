import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, tableStores } from '../aws/lambda/services.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { sealRunCompaction } from '../core/attempts/seal-run-compaction.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), generation: z.string() });

export const handler = lambdaHandler('seal-compaction', input, (joined) =>
  sealRunCompaction({ ...tableStores(), clock, withPacking }, joined),
);
