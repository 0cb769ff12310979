/** An event of the service, as EventBridge puts it into the queue of notices (docs/events.md). */
import * as z from 'zod';

const run = { runId: z.string().min(1).max(63), pipeline: z.string().min(1).max(32) };
const attempt = { attempt: z.number().int().min(1), jobName: z.string() };
const event = <Type extends string, Detail extends z.ZodRawShape>(type: Type, detail: Detail) =>
  z.object({
    'detail-type': z.literal(type),
    time: z.iso.datetime(),
    detail: z.looseObject({ ...run, ...detail }),
  });

/** Events that a declaration's targets may hear of. A later version of an event may have more fields. */
export const noticeEvent = z.discriminatedUnion('detail-type', [
  event('RunFinished', { modelUri: z.string().optional(), costUsd: z.number(), onDemandUsd: z.number() }),
  event('RunFailed', { reason: z.string() }),
  event('RunStopped', { requestedBy: z.string(), costUsd: z.number() }),
  event('AttemptInterrupted', { ...attempt, reason: z.string(), step: z.number().optional() }),
  event('CheckpointStalled', { ...attempt, step: z.number(), ageSeconds: z.number() }),
  event('ScriptHangs', { ...attempt, host: z.string(), since: z.string() }),
  event('DoctorVerdict', {
    ...attempt,
    cause: z.string(),
    remedy: z.string().optional(),
    gainUsd: z.object({ low: z.number(), high: z.number() }).optional(),
  }),
  event('BudgetNearlySpent', { costUsd: z.number(), budgetUsd: z.number() }),
  event('DeadlineInDanger', { deadlineAt: z.string(), expectedAt: z.string() }),
]);

export type NoticeEvent = z.infer<typeof noticeEvent>;
