/** The service's memory: pipelines, runs, attempts, placements, timeline. DynamoDB behind it (functions/aws/dynamodb/run-store.ts). */

import type { Pipeline } from '../pipeline/pipeline.ts';
import type { PipelineRecord } from './batches.ts';
import type { MarketHistory } from './market-history.ts';
import type { AttemptRecord, PlacementDecision, RunRecord } from './run-records.ts';

/** One line of a run's timeline. */
export interface TimelineEntry {
  /** What makes it this entry: writing it again changes nothing. */
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly text: string;
}

export type RunChange = Partial<Omit<RunRecord, 'runId' | 'pipeline' | 'batch' | 'createdAt'>> & {
  readonly updatedAt: string;
};
export type AttemptChange = Partial<
  Pick<
    AttemptRecord,
    'status' | 'taskToken' | 'progressBefore' | 'progressAfter' | 'takenBackAt' | 'recall' | 'outcome'
  >
> & { readonly updatedAt: string };

export interface StoredPlacement {
  readonly attempt: number;
  readonly decision: PlacementDecision;
}

/** Every write is idempotent or conditional; reads of one item are strongly consistent. */
export interface RunStore extends MarketHistory {
  getPipeline(name: string): Promise<PipelineRecord | undefined>;
  listPipelines(): Promise<PipelineRecord[]>;
  /** Creates the record if there is none (open batch = firstBatch) and returns the one that stands. */
  ensurePipeline(
    name: string,
    first: { readonly firstBatch: number; readonly at: string },
  ): Promise<PipelineRecord>;
  setPipelineValidity(
    name: string,
    validity: Pick<PipelineRecord, 'valid' | 'problems' | 'updatedAt'>,
  ): Promise<void>;

  createRun(run: RunRecord): Promise<'created' | 'exists'>;
  getRun(runId: string): Promise<RunRecord | undefined>;
  updateRun(runId: string, change: RunChange): Promise<RunRecord>;
  /** Newest first. */
  listRuns(pipeline: string, limit: number): Promise<RunRecord[]>;
  /** Runs that are not finished; may lag by a moment. */
  listOpenRuns(): Promise<RunRecord[]>;
  /**
   * Pins the declaration on the run and opens the next batch, both or neither; a batch closed before stays as it was.
   * `seen` is kept with the pipeline, and forgotten when it is not given.
   */
  closeBatch(
    run: { readonly runId: string; readonly pipeline: string; readonly batch: number },
    close: { readonly at: string; readonly declaration?: Pipeline; readonly seen?: string },
  ): Promise<RunRecord>;

  createAttempt(attempt: AttemptRecord): Promise<'created' | 'exists'>;
  getAttempt(runId: string, attempt: number): Promise<AttemptRecord | undefined>;
  updateAttempt(runId: string, attempt: number, change: AttemptChange): Promise<AttemptRecord>;
  /** Oldest first. */
  listAttempts(runId: string): Promise<AttemptRecord[]>;
  findAttemptByJob(jobName: string): Promise<AttemptRecord | undefined>;
  /** Attempts that are starting or running; may lag by a moment. */
  listOpenAttempts(): Promise<AttemptRecord[]>;

  putPlacement(runId: string, attempt: number, decision: PlacementDecision): Promise<void>;
  /** The newest decision of each attempt, in order. */
  listPlacements(runId: string): Promise<StoredPlacement[]>;

  addTimeline(runId: string, entry: TimelineEntry): Promise<void>;
  /** In order of time. */
  listTimeline(runId: string): Promise<TimelineEntry[]>;
}
