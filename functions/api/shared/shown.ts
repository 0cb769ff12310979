/** What the API shows of runs, attempts and placements, and what it keeps back. */

import { writtenSchema } from '@tidewheel/declaration/pipeline.ts';
import { shownVerdictSchema } from '@tidewheel/doctor/verdict.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import { outcomeSchema, placementSchema, provenSchema } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { shownRun } from '../../records/requests.ts';
import {
  type AttemptRecord,
  attemptRecordSchema,
  diagnosisSchema,
  type ListedRun,
  listedRunOf,
  listedRunSchema,
  type RunRecord,
  resultSchema,
  runRecordSchema,
  runRequestSchema,
} from '../../records/run-records.ts';
import { deadlineOfListed, ownership } from '../../run/attempts/make-report.ts';
import { nextToken, unreadable } from './paging.ts';

export const placement = placementSchema.omit({ considered: true });
export const progress = provenSchema.omit({ pace: true });
const diagnosis = diagnosisSchema.extend({ verdicts: list(shownVerdictSchema) });

export const attempt = attemptRecordSchema.omit({ taskToken: true }).extend({
  placement,
  progressBefore: progress.optional(),
  progressAfter: progress.optional(),
  applied: list(z.looseObject({ kind: z.string() }))
    .optional()
    .describe("The doctor's remedies that it started with."),
  diagnosis: diagnosis.optional(),
});

/**
 * A task token lets its holder answer for the training job: it never leaves the service. The table of the placement has
 * an answer of its own.
 */
export function shownAttempt({ taskToken: _taskToken, placement, ...attempt }: AttemptRecord) {
  const { considered: _considered, ...chosen } = placement;
  return { ...attempt, placement: chosen };
}

/** What every look at a run reads of its attempts. */
export const attemptSummary = attempt
  .pick({ attempt: true, jobName: true, launcher: true, status: true, createdAt: true, updatedAt: true })
  .extend({
    startedAt: attempt.shape.startedAt,
    preparing: attempt.shape.preparing,
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

const result = resultSchema.omit({ spent: true }).optional();

export const run = runRecordSchema.extend({
  result,
  request: runRequestSchema.omit({ tokens: true, parts: true }).optional(),
  declaration: writtenSchema.optional(),
});

export const runSummary = listedRunSchema.omit({ listed: true }).extend({
  result,
  request: run.shape.request,
  deadlineAt: time.optional(),
  ...ownership,
  hyperparameters: listedRunSchema.shape.listed.unwrap().shape.hyperparameters,
});

export const runList = z.object({ runs: list(runSummary), unreadable, nextToken });

export const summaryOfRun = (record: RunRecord) => summaryOf(listedRunOf(record));

export const summaryOf = (run: ListedRun) =>
  runSummary.parse({
    ...shownRun(run),
    deadlineAt: deadlineOfListed(run)?.toISOString(),
    ...run.listed,
  });
