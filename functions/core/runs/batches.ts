/** The run that an arrival belongs to, and whether the arrival starts it. */
import { runIdOf } from '../shared/keys.ts';

/** The record of a pipeline between runs. */
export interface PipelineRecord {
  readonly name: string;
  /** Number of the batch for current arrivals; all earlier batches are closed. */
  readonly openBatch: number;
  /** Time of the last batch's close, ISO 8601. Its run listed the bucket after that. */
  readonly closedAt?: string | undefined;
  /** Fingerprint of incoming/ at that close; undefined if the run that closed the batch could not settle it. */
  readonly seen?: string | undefined;
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

/**
 * An object older than the last close is in that batch's listing, because S3's listings are strongly consistent. So a
 * late or repeated event of it starts no run.
 */
export function wakes(pipeline: Pick<PipelineRecord, 'closedAt'>, eventTime: Date): boolean {
  if (pipeline.closedAt === undefined) return true;
  return eventTime.getTime() > new Date(pipeline.closedAt).getTime() - CLOCK_SKEW_MILLISECONDS;
}

/** Name of a run's execution: valid for SageMaker, always unique, the same for every trigger. */
export const executionName = (runId: string, execution: number): string => `${runId}-x${execution}`;
