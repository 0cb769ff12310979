/** What was measured of an attempt's start and steps, and what the doctor makes of it. */
import { readingSchema, speedSchema, verdictSchema } from '@tidewheel/doctor/verdict.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';

export const attemptInputSchema = z
  .object({ mode: z.enum(['File', 'FastFile', 'Pipe']), shards: z.number().int(), bytes: z.number() })
  .describe('The shards that it reads, and how they reach its script.');

/** What the doctor says of an attempt, by what the agent has measured so far. */
export const diagnosisSchema = z.object({
  at: time,
  /** Then nothing more is measured. */
  isFinal: z.boolean().optional().describe('Whether the attempt had ended.'),
  speed: speedSchema.optional(),
  reading: readingSchema.optional(),
  /** The most worthwhile first. */
  verdicts: list(verdictSchema),
});
export type Diagnosis = z.output<typeof diagnosisSchema>;
