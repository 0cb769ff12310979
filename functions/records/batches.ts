/** The run that an arrival belongs to, and whether the arrival starts it. */

import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { list, problemSchema, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';

/** A folder that is too large to be listed for each run. */
export const notifiedFolderSchema = z.object({
  /** Since when the keys of each notification are noted. */
  since: time,
  /** The last close whose run listed the whole folder. */
  listedAt: time,
  /** The last close whose run did not. */
  closedAt: time.optional(),
});
export type NotifiedFolder = Readonly<z.output<typeof notifiedFolderSchema>>;

/** The record of a pipeline between runs. */
export const pipelineRecordSchema = z.object({
  name: z.string(),
  /** All earlier batches are closed. */
  openBatch: z.number().int().describe('Number of the batch that takes what arrives now.'),
  /** Its run listed the bucket after that. */
  closedAt: time.optional().describe('When the last batch was closed.'),
  /** Fingerprint of incoming/ at that close; undefined if the run that closed the batch could not settle it. */
  seen: z.string().optional(),
  notified: notifiedFolderSchema
    .optional()
    .describe('Present where the folder is too large to be listed for each run.'),
  /** When a sweep last listed incoming/ and found nothing new, and how much lay there. */
  sweptAt: time.optional(),
  sweptObjects: z.number().int().optional(),
  /** It was checked, and its schedule is set. */
  valid: z.boolean().describe('Whether a run can use the declaration.'),
  /** Of the declaration that was checked last. */
  declarationEtag: z.string().optional(),
  /** Release that checked it. Another one may know other rules. */
  checkedBy: z.string().optional(),
  /** It has a schedule, which goes with a stack that is removed. */
  isScheduled: z.boolean().optional(),
  /** The declaration was deleted. The record stays, since its batches keep their numbers. */
  removedAt: time.optional(),
  problems: list(problemSchema).optional(),
  updatedAt: time,
});
export type PipelineRecord = Readonly<z.output<typeof pipelineRecordSchema>>;

export interface RunName {
  readonly runId: string;
  readonly batch: number;
}

export const openRun = (pipeline: PipelineRecord): RunName => ({
  runId: runIdOf(pipeline.name, pipeline.openBatch),
  batch: pipeline.openBatch,
});

/** Since when the keys are noted around which the run of this close lists; undefined where it lists the whole folder. */
export const notifiedSinceOf = ({
  closedAt,
  notified,
}: Pick<PipelineRecord, 'closedAt' | 'notified'>): string | undefined =>
  closedAt !== undefined && notified?.closedAt === closedAt ? notified.since : undefined;

/** Whether the run that closed the last batch did not list the whole folder. */
export const isPartlyListed = (pipeline: Pick<PipelineRecord, 'closedAt' | 'notified'>): boolean =>
  notifiedSinceOf(pipeline) !== undefined;

/** Name of a run's execution: valid for SageMaker, always unique, the same for every trigger. */
export const executionName = (runId: string, execution: number): string => `${runId}-x${execution}`;
