/** What the API says of pipelines. */
import * as z from 'zod';
import { pipelineRecordSchema } from '../../runs/batches.ts';
import { list, problemSchema } from '../../shared/fields.ts';
import { nextToken, unreadable } from './page.ts';

export const pipelineList = z.object({ pipelines: list(pipelineRecordSchema), unreadable, nextToken });

/** The record is absent for a moment after the declaration came into the bucket by another way. */
export const pipelineAnswer = pipelineRecordSchema
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
