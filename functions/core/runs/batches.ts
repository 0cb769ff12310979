/** Which run an arrival belongs to, and when it wakes none. */
import { runIdOf } from '../shared/keys.ts';

/** What is remembered of a pipeline between runs. */
export interface PipelineRecord {
  readonly name: string;
  /** Number of the batch that arrivals belong to now; the batches before it are closed. */
  readonly openBatch: number;
  /** When the batch before the open one was closed, ISO 8601. Its run listed the bucket after that. */
  readonly closedAt?: string | undefined;
  /** Fingerprint of incoming/ at that close; undefined when the batch was closed by a run that could not settle it. */
  readonly seen?: string | undefined;
  readonly valid: boolean;
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

/** S3's clock against ours; an arrival within this of the close starts a run that may find nothing. */
const CLOCK_SKEW_MILLISECONDS = 2_000;

/**
 * An object that was there before the last batch was closed is in that batch's listing (S3 lists strongly
 * consistently), so its event, however late or often it comes, wakes nothing.
 */
export function wakes(pipeline: Pick<PipelineRecord, 'closedAt'>, eventTime: Date): boolean {
  if (pipeline.closedAt === undefined) return true;
  return eventTime.getTime() > new Date(pipeline.closedAt).getTime() - CLOCK_SKEW_MILLISECONDS;
}

/** Name of the k-th execution of a run: SageMaker-safe, unique for ever, the same for every trigger. */
export const executionName = (runId: string, execution: number): string => `${runId}-x${execution}`;
