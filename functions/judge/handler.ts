import * as z from 'zod';
import { onion } from '../aws/onion.ts';
import { services } from '../aws/services.ts';
import { judgeRun } from '../core/judge-run.ts';

const input = z.object({ runId: z.string(), timedOut: z.boolean().optional() });

export const handler = onion('judge', input, async ({ runId, timedOut }) => {
  const { runs, store, training, executions, notifier, clock } = services;
  return await judgeRun({ runs, store, training, executions, notifier, clock }, { runId, timedOut });
});
