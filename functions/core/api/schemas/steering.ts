/** What steers a run, and the answers. */
import * as z from 'zod';
import { limitsSchema } from '../../pipeline/pipeline.ts';
import { STOP_MODES } from '../../runs/run-records.ts';
import { seconds, time, usd } from './operation.ts';
import { placementDecision } from './placements.ts';
import { retry, runStatus, stop } from './runs.ts';

export const stopBody = z.strictObject({
  mode: z
    .enum(STOP_MODES)
    .default('afterSave')
    .describe('now: hosts on EC2 end without a last save; SageMaker always leaves 120 seconds for one.'),
});

export const stopAnswer = z.object({
  runId: z.string(),
  status: runStatus,
  stop,
  unsaved: z
    .object({ seconds, usd, step: z.number().optional().describe('Of the newest checkpoint.') })
    .optional()
    .describe('What a script that saves nothing now loses.'),
});

/** A part of a declaration, and the source to train with. */
export const retryBody = z.looseObject({
  source: z
    .enum(['pinned', 'current'])
    .default('current')
    .describe('pinned: the source of the attempts before; current: as it is now.'),
});

export const retryAnswer = z.object({
  runId: z.string(),
  status: runStatus,
  retry: retry.optional(),
  checkpoint: z
    .object({ name: z.string(), step: z.number() })
    .optional()
    .describe('From which it goes on; absent: from the start.'),
});

/** Fields of `limits`; null takes one out. */
export const limitsBody = z.record(z.string(), z.number().nullable());

export const limitsAnswer = z.object({
  runId: z.string(),
  status: runStatus,
  limits: limitsSchema,
  placement: placementDecision
    .optional()
    .describe(
      'What the last placement would have been with these limits; the run itself goes on where it is.',
    ),
});

export const deletionAnswer = z.object({
  runId: z.string(),
  status: runStatus,
  deletion: z.object({ at: time, requestedBy: z.string().describe('Who asked.') }).optional(),
  isDeleted: z.boolean().describe('Whether nothing is left; else they are deleted within a day.'),
});
