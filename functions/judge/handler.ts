import * as z from 'zod';
import { onion } from '../aws/onion.ts';
import { attemptServices, region } from '../aws/services.ts';
import { judgeRun } from '../core/judge-run.ts';

const input = z.object({ runId: z.string(), timedOut: z.boolean().optional() });

export const handler = onion('judge', input, async ({ runId, timedOut }) => {
  return judgeRun({ ...attemptServices(), regionOf: region }, { runId, timedOut });
});
