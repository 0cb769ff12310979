import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { announceCompaction } from '../../run/attempts/seal-run-compaction.ts';
import { clock, tableStores } from '../../wiring/services.ts';

/** What a Catch of the state machine keeps of a failed state. */
const failure = z.object({ Error: z.string().default(''), Cause: z.string().default('') });
const input = z.object({ runId: z.string(), error: failure });

export const handler = lambdaHandler('abandon-compaction', input, ({ runId, error }) =>
  announceCompaction({ ...tableStores(), clock }, { runId }, { status: 'failed', ...error }),
);
