/** How long a run's files are kept after its end. `runs/retention.ts` decides by it. */
import * as z from 'zod';

const days = z.union([z.number().int().min(1).max(3_650), z.literal('forever')]);

export const retentionSchema = z.strictObject({
  workDays: days
    .default(30)
    .describe(
      'Plans, results of the packing map, notes of what a run read and the samples that it drew (retracted ones too), after the end of the run.',
    ),
  checkpointDays: days.default(30).describe('Checkpoints of a run that succeeded. Its model stays.'),
  failedCheckpointDays: days.default(90).describe('Checkpoints of a run that failed.'),
  sourceDays: days
    .default(365)
    .describe('The packed source of a run, if no other run of the pipeline uses it.'),
});

export type Retention = z.infer<typeof retentionSchema>;
