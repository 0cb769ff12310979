/** The run that an arrival belongs to, and whether the arrival starts it. */
import { runIdOf } from '../shared/keys.ts';

/** A folder that is too large to be listed for each run. Times are ISO 8601. */
export interface NotifiedFolder {
  /** Since when the keys of each notification are noted. */
  readonly since: string;
  /** The last close whose run listed the whole folder. */
  readonly listedAt: string;
  /** The last close whose run did not. */
  readonly closedAt?: string | undefined;
}

/** The record of a pipeline between runs. */
export interface PipelineRecord {
  readonly name: string;
  /** Number of the batch for current arrivals; all earlier batches are closed. */
  readonly openBatch: number;
  /** Time of the last batch's close, ISO 8601. Its run listed the bucket after that. */
  readonly closedAt?: string | undefined;
  /** Fingerprint of incoming/ at that close; undefined if the run that closed the batch could not settle it. */
  readonly seen?: string | undefined;
  readonly notified?: NotifiedFolder | undefined;
  /** When a sweep last listed incoming/ and found nothing new, ISO 8601, and how much lay there. */
  readonly sweptAt?: string | undefined;
  readonly sweptObjects?: number | undefined;
  /** Whether a run can use the declaration: it was checked, and its schedule is set. */
  readonly valid: boolean;
  /** Of the declaration that was checked last. */
  readonly declarationEtag?: string | undefined;
  /** The declaration was deleted, ISO 8601. The record stays, since its batches keep their numbers. */
  readonly removedAt?: string | undefined;
  readonly problems?: readonly { readonly path: string; readonly message: string }[] | undefined;
  readonly updatedAt: string;
}

export interface RunName {
  readonly runId: string;
  readonly batch: number;
}

export const openRun = (pipeline: PipelineRecord): RunName => ({
  runId: runIdOf(pipeline.name, pipeline.openBatch),
  batch: pipeline.openBatch,
});

/** Tolerance between S3's clock and ours. An arrival this close to the close starts a run that may find nothing. */
const CLOCK_SKEW_MILLISECONDS = 2_000;

/** Since when the keys are noted around which the run of this close lists; undefined where it lists the whole folder. */
export const notifiedSinceOf = ({
  closedAt,
  notified,
}: Pick<PipelineRecord, 'closedAt' | 'notified'>): string | undefined =>
  closedAt !== undefined && notified?.closedAt === closedAt ? notified.since : undefined;

/** Whether the run that closed the last batch did not list the whole folder. */
export const isPartlyListed = (pipeline: Pick<PipelineRecord, 'closedAt' | 'notified'>): boolean =>
  notifiedSinceOf(pipeline) !== undefined;

/**
 * An object older than the last listing is in that batch, because S3's listings are strongly consistent. So a late or
 * repeated event of it starts no run.
 */
export function wakes(pipeline: Pick<PipelineRecord, 'closedAt' | 'notified'>, eventTime: Date): boolean {
  const listedAt = isPartlyListed(pipeline) ? pipeline.notified?.listedAt : pipeline.closedAt;
  if (listedAt === undefined) return true;
  return eventTime.getTime() > new Date(listedAt).getTime() - CLOCK_SKEW_MILLISECONDS;
}

/** Name of a run's execution: valid for SageMaker, always unique, the same for every trigger. */
export const executionName = (runId: string, execution: number): string => `${runId}-x${execution}`;
