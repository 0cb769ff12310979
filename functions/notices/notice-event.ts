/** An event of the service, as EventBridge puts it into the queue of notices (docs/events.md). */
import * as z from 'zod';
import { NOTICES } from '../records/notices.ts';

const run = { runId: z.string().min(1).max(63), pipeline: z.string().min(1).max(32) };
const event = <Type extends keyof typeof NOTICES, Detail extends z.ZodRawShape>(
  type: Type,
  { shape }: z.ZodObject<Detail>,
) =>
  z.object({
    'detail-type': z.literal(type),
    time: z.iso.datetime(),
    detail: z.looseObject({ ...run, ...shape }),
  });

/** Events that a declaration's targets may hear of. */
export const noticeEvent = z.discriminatedUnion('detail-type', [
  event('RunFinished', NOTICES.RunFinished),
  event('RunFailed', NOTICES.RunFailed),
  event('RunStopped', NOTICES.RunStopped),
  event('TrainingNotNeeded', NOTICES.TrainingNotNeeded),
  event('AttemptInterrupted', NOTICES.AttemptInterrupted),
  event('CheckpointStalled', NOTICES.CheckpointStalled),
  event('ScriptHangs', NOTICES.ScriptHangs),
  event('DoctorVerdict', NOTICES.DoctorVerdict),
  event('BudgetNearlySpent', NOTICES.BudgetNearlySpent),
  event('DeadlineInDanger', NOTICES.DeadlineInDanger),
  event('DeadlineSafe', NOTICES.DeadlineSafe),
  event('ModelEvaluated', NOTICES.ModelEvaluated),
  event('HandOverDelayed', NOTICES.HandOverDelayed),
  event('ModelPromoted', NOTICES.ModelPromoted),
  event('ModelRejected', NOTICES.ModelRejected),
  event('ModelRolledBack', NOTICES.ModelRolledBack),
]);

export type NoticeEvent = z.infer<typeof noticeEvent>;
