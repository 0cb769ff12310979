/** What steers a run, and the answers. */
import * as z from 'zod';
import { limitsSchema } from '../../pipeline/pipeline.ts';
import { placementDecisionSchema } from '../../placement/placement-records.ts';
import { retrySchema, runStatusSchema, STOP_MODES, stopSchema } from '../../runs/run-records.ts';
import { seconds, time, usd } from '../../shared/fields.ts';

export const stopBody = z.strictObject({
  mode: z
    .enum(STOP_MODES)
    .default('afterSave')
    .describe('now: hosts on EC2 end without a last save; SageMaker always leaves 120 seconds for one.'),
});

export const stopAnswer = z.object({
  runId: z.string(),
  status: runStatusSchema,
  stop: stopSchema,
  unsaved: z
    .object({ seconds, usd, step: z.number().optional().describe('Of the newest checkpoint.') })
    .optional()
    .describe('What a script that saves nothing now loses.'),
});

/** A part of a declaration that holds for this run alone, and what it is a part of. */
export const startBody = z.looseObject({
  again: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*-\d{6,}$/, 'name a run such as digits-000041')
    .optional()
    .describe(
      'Train as this run did: its declaration, data and source. Absent: as the pipeline declares now.',
    ),
  source: z
    .enum(['pinned', 'current'])
    .optional()
    .describe('With `again`, pinned (the usual): the source of that run; current: as it is now.'),
  clientToken: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'write up to 64 letters, digits, - and _')
    .optional()
    .describe('A repeated call with the same token is answered with the same run.'),
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
  status: runStatusSchema,
  retry: retrySchema.optional(),
  checkpoint: z
    .object({ name: z.string(), step: z.number() })
    .optional()
    .describe('From which it goes on; absent: from the start.'),
});

/** Fields of `limits`; null takes one out. */
export const limitsBody = z.record(z.string(), z.number().nullable());

export const limitsAnswer = z.object({
  runId: z.string(),
  status: runStatusSchema,
  limits: limitsSchema,
  placement: placementDecisionSchema
    .optional()
    .describe(
      'What the last placement would have been with these limits; the run itself goes on where it is.',
    ),
});

export const deletionAnswer = z.object({
  runId: z.string(),
  status: runStatusSchema,
  deletion: z.object({ at: time, requestedBy: z.string().describe('Who asked.') }).optional(),
  isDeleted: z.boolean().describe('Whether nothing is left; else they are deleted within a day.'),
});
