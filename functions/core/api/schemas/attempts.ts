/** What the API says of attempts, and of the progress that their checkpoints prove. */

import * as z from 'zod';
import { outcomeSchema, provenSchema } from '../../placement/attempts.ts';
import { attemptRecordSchema } from '../../runs/run-records.ts';
import { list } from '../../shared/fields.ts';
import { diagnosis } from './diagnoses.ts';
import { placement } from './placements.ts';

export const progress = provenSchema.omit({ pace: true });

export const attempt = attemptRecordSchema.omit({ taskToken: true }).extend({
  placement,
  progressBefore: progress.optional(),
  progressAfter: progress.optional(),
  applied: list(z.looseObject({ kind: z.string() }))
    .optional()
    .describe("The doctor's remedies that it started with."),
  diagnosis: diagnosis.optional(),
});

/** What every look at a run reads of its attempts. */
export const attemptSummary = attempt
  .pick({ attempt: true, jobName: true, launcher: true, status: true, createdAt: true, updatedAt: true })
  .extend({
    startedAt: attempt.shape.startedAt,
    placement: placement.pick({
      pool: true,
      topology: true,
      decidedAt: true,
      onDemandHourlyUsd: true,
      helpersHourlyUsd: true,
    }),
    progressAfter: progress
      .pick({ step: true, totalSteps: true, unit: true, checkpoint: true, updatedAt: true })
      .optional()
      .describe('The newest checkpoint at its end.'),
    beganAt: z.number().optional().describe('The step at which its script went on.'),
    recall: attempt.shape.recall,
    outcome: outcomeSchema
      .pick({
        kind: true,
        message: true,
        startedAt: true,
        scriptStartedAt: true,
        endedAt: true,
        trainingSeconds: true,
        interruptions: true,
      })
      .optional(),
    costUsd: z.number().optional().describe('Absent while it goes on.'),
    diagnosis: diagnosis.optional().describe('Of the newest attempt alone.'),
    log: attempt.shape.log,
  });
