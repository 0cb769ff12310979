/** What the API says of pipelines. */
import * as z from 'zod';
import { list, problemSchema, time } from './operation.ts';
import { nextToken } from './page.ts';

export const pipelineSummary = z.object({
  name: z.string(),
  openBatch: z.number().int().describe('Number of the batch that takes what arrives now.'),
  closedAt: time.optional().describe('When the last batch was closed.'),
  seen: z.string().optional(),
  notified: z
    .object({ since: time, listedAt: time, closedAt: time.optional() })
    .optional()
    .describe('Present where the folder is too large to be listed for each run.'),
  sweptAt: time.optional(),
  sweptObjects: z.number().int().optional(),
  valid: z.boolean().describe('Whether a run can use the declaration.'),
  declarationEtag: z.string().optional(),
  removedAt: time.optional(),
  problems: list(problemSchema).optional(),
  updatedAt: time,
});

export const pipelineList = z.object({ pipelines: list(pipelineSummary), nextToken });

/** The record is absent for a moment after the declaration came into the bucket by another way. */
export const pipelineAnswer = pipelineSummary
  .partial()
  .extend({ name: z.string(), declaration: z.string().describe('YAML, as it was written.') });

const woken = z.union([
  z.object({ kind: z.enum(['started', 'running']), runId: z.string() }),
  z.object({ kind: z.literal('ignored'), reason: z.string() }),
]);

export const storedPipeline = z.object({
  name: z.string(),
  kind: z.enum(['valid', 'gone']),
  woken: woken.optional().describe('The run that data which was there before started.'),
});

/** Another kind than `gone` says that it was declared again meanwhile. */
export const deletedPipeline = storedPipeline.extend({
  kind: z.enum(['valid', 'invalid', 'gone']),
  problems: list(problemSchema).optional(),
});

export const startedRun = z.object({
  kind: z.enum(['started', 'running']),
  runId: z.string(),
  changed: list(z.string()).describe('Fields that hold for this run alone.'),
  again: z.string().optional().describe('The run that it does again.'),
});
