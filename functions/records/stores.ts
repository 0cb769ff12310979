/**
 * The ports to the service's table, one small store for each kind of record. Every write is idempotent or conditional, and
 * a read of one item is strongly consistent. A list of several runs or pipelines steps over records that cannot be read; every
 * other read of one throws an UnreadableRecordError. The adapters are in functions/aws/dynamodb, the fakes in test/support/fakes.
 */

import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Unreadable } from '@tidewheel/kit/errors.ts';
import type { MarketStores } from '@tidewheel/placement/market.ts';
import type { StoredDecision } from '@tidewheel/placement/records.ts';
import type { NotifiedFolder, PipelineRecord } from './batches.ts';
import type { PipelineModels } from './models.ts';
import type { ReopenChange, Requested } from './requests.ts';
import type {
  AttemptRecord,
  Expiring,
  ListedRun,
  RunRecord,
  RunRequest,
  RunStatus,
  StopRequest,
  TimelineEntry,
} from './run-records.ts';

/** Hears of each record that a list has stepped over, because this release cannot read it. */
export type Tell = (unreadable: Unreadable) => void;

/** Where a pipeline's record begins: at its first batch, or behind those that a lost table knew. */
export type FirstBatch = Pick<PipelineRecord, 'closedAt' | 'seen' | 'notified'> & {
  readonly firstBatch: number;
  readonly at: string;
};

export interface PipelineStore {
  get(name: string): Promise<PipelineRecord | undefined>;
  /** By name, without those that were removed; of a page, the first `limit` behind the name `after`. */
  list(page?: {
    readonly limit?: number;
    readonly after?: string | undefined;
    readonly tell?: Tell;
  }): Promise<PipelineRecord[]>;
  /** Creates the record with `firstBatch` as open batch if there is none, and returns the stored one. */
  ensure(name: string, first: FirstBatch): Promise<PipelineRecord>;
  /** A pipeline that was removed is listed again. Changes nothing without a record. */
  setValidity(
    name: string,
    validity: Pick<
      PipelineRecord,
      'valid' | 'declarationEtag' | 'problems' | 'checkedBy' | 'isScheduled' | 'updatedAt'
    >,
  ): Promise<void>;
  /** Takes the pipeline from the list and keeps its record. Changes nothing without a record. */
  remove(name: string, at: string): Promise<void>;
  /** Changes nothing without a record. */
  setSwept(name: string, swept: Required<Pick<PipelineRecord, 'sweptAt' | 'sweptObjects'>>): Promise<void>;
}

export interface BegunQuery {
  readonly limit: number;
  /** Place of the last run of the page before. */
  readonly before?: string | undefined;
  /** Only runs that began at this time or later. */
  readonly since?: string | undefined;
  readonly statuses?: readonly RunStatus[] | undefined;
  /** Probes too. */
  readonly probes?: boolean | undefined;
  readonly tell?: Tell | undefined;
}

export interface BegunPage {
  readonly runs: ListedRun[];
  /** Absent: there are no further ones. The place down to which all runs were looked at. */
  readonly searchedTo?: string | undefined;
}

/** The place of a run in the order of all runs. */
export const begunAtOf = ({ createdAt, runId }: Pick<RunRecord, 'createdAt' | 'runId'>): string =>
  `${createdAt} ${runId}`;

type RunChange = Partial<Omit<RunRecord, 'runId' | 'pipeline' | 'batch' | 'createdAt'>> & {
  readonly updatedAt: string;
};

export interface RunStore {
  create(run: RunRecord): Promise<'created' | 'exists'>;
  get(runId: string): Promise<RunRecord | undefined>;
  /** @throws RunNotFoundError */
  update(runId: string, change: RunChange): Promise<RunRecord>;
  /**
   * Changes nothing but what a person says of the run, and what lists show of it.
   * @throws RunNotFoundError
   */
  annotate(
    run: RunRecord,
    said: Partial<Pick<RunRecord, 'annotation' | 'acknowledgement'>>,
  ): Promise<RunRecord>;
  /**
   * Ends the run, unless it was opened again since it was read.
   * @throws RunNotFoundError
   */
  finish(
    run: Pick<RunRecord, 'runId' | 'retry'>,
    end: Pick<RunRecord, 'failure' | 'modelUri' | 'result' | 'updatedAt'> & { readonly status: RunStatus },
  ): Promise<RunRecord>;
  /**
   * Opens an ended run again, in its next execution.
   * @returns undefined if the run has changed since it was read
   */
  reopen(run: RunRecord, change: ReopenChange): Promise<RunRecord | undefined>;
  /**
   * Records a stop, unless the run has ended. The first request holds; a later `now` replaces `afterSave` and keeps the
   * execution of the first.
   * @throws RunNotFoundError
   */
  requestStop(runId: string, request: Omit<StopRequest, 'execution'>): Promise<RunRecord>;
  /**
   * Records that a person asks for the run, unless its batch is closed, it is being stopped, or a request of another shape
   * is there. It then trains even without new data.
   * @throws RunNotFoundError
   */
  requestRun(
    runId: string,
    request: RunRequest,
  ): Promise<{ readonly kind: Requested['kind']; readonly run: RunRecord }>;
  /** Newest first; with `before`, only older runs than that one. */
  list(pipeline: string, limit: number, before?: string, tell?: Tell): Promise<RunRecord[]>;
  /** The same of its probes, which `list` leaves out. */
  listProbes(pipeline: string, limit: number, before?: string, tell?: Tell): Promise<RunRecord[]>;
  /**
   * Runs of all pipelines, those of removed ones too, newest first; the index may lag by a moment. The look ends after a few
   * reads, with `searchedTo`, where only a filter keeps the page from being full.
   */
  listBegun(wanted: BegunQuery): Promise<BegunPage>;
  /**
   * Brings runs of earlier releases into `listBegun`, so many reads at a time. Each call goes on where the last one ended.
   * @returns whether all are there
   */
  indexBegun(reads: number): Promise<boolean>;
  /** Unfinished runs, probes too; the index may lag by a moment. */
  listOpen(tell?: Tell): Promise<RunRecord[]>;
  /** Finished runs with files that have not expired; the index may lag by a moment. */
  listKept(tell?: Tell): Promise<RunRecord[]>;
  /** @throws RunNotFoundError */
  setExpired(
    runId: string,
    change: { readonly expired: readonly Expiring[]; readonly isComplete: boolean },
  ): Promise<void>;
  /**
   * Pins the declaration on the run and opens the pipeline's next batch, both or neither. A closed batch does not change.
   * The pipeline's record keeps `seen` and `notified`, or removes what is absent. A run that never settled says
   * nothing of `notified`. `request` takes the place of the run's own.
   * @throws TransientError where a person asked for the run since it was read
   */
  closeBatch(
    run: Pick<RunRecord, 'runId' | 'pipeline' | 'batch' | 'request'>,
    close: {
      readonly at: string;
      readonly declaration?: Pipeline;
      readonly seen?: string | undefined;
      readonly notified?: NotifiedFolder | undefined;
      readonly request?: RunRequest | undefined;
      readonly source?: string | undefined;
      readonly startedFrom?: RunRecord['startedFrom'];
    },
  ): Promise<RunRecord>;
}

type AttemptChange = Partial<
  Pick<
    AttemptRecord,
    | 'status'
    | 'placement'
    | 'startedAt'
    | 'preparing'
    | 'taskToken'
    | 'progressBefore'
    | 'progressAfter'
    | 'resume'
    | 'recall'
    | 'outcome'
    | 'log'
    | 'input'
    | 'applied'
    | 'diagnosis'
  >
> & { readonly updatedAt: string };

export interface AttemptStore {
  create(attempt: AttemptRecord): Promise<'created' | 'exists'>;
  get(runId: string, attempt: number): Promise<AttemptRecord | undefined>;
  /** @throws RunNotFoundError */
  update(runId: string, attempt: number, change: AttemptChange): Promise<AttemptRecord>;
  /** Oldest first. */
  list(runId: string): Promise<AttemptRecord[]>;
  findByJob(jobName: string): Promise<AttemptRecord | undefined>;
  /** Attempts that are starting or running; the index may lag by a moment. */
  listOpen(tell?: Tell): Promise<AttemptRecord[]>;
}

export interface StoredPlacement {
  readonly attempt: number;
  readonly decision: StoredDecision;
}

export interface PlacementStore {
  /** A later decision for the same attempt replaces the earlier one. */
  put(runId: string, attempt: number, decision: StoredDecision): Promise<void>;
  get(runId: string, attempt: number): Promise<StoredPlacement | undefined>;
  /** The newest decision of each attempt, in order. */
  list(runId: string): Promise<StoredPlacement[]>;
}

export interface TimelineStore {
  add(runId: string, entry: TimelineEntry): Promise<void>;
  /** In order of time. */
  list(runId: string): Promise<TimelineEntry[]>;
}

/** One item a pipeline. */
export interface ModelStore {
  get(pipeline: string): Promise<PipelineModels | undefined>;
  /**
   * Takes a decision.
   * @param before number of the stored item; undefined where there is none
   * @returns false where another decision was faster
   */
  put(models: PipelineModels, before: number | undefined): Promise<boolean>;
  /** The decisions up to this number are published. @returns false where there is a later one */
  setPublished(pipeline: string, number: number): Promise<boolean>;
  /** Pipelines with a decision that is not published; the index may lag by a moment. */
  listUnpublished(tell?: Tell): Promise<PipelineModels[]>;
}

/** When arrivals of test objects were taken; a record expires after a day. */
export interface TestObjectStore {
  setTaken(id: string, at: string): Promise<void>;
  takenAt(id: string): Promise<string | undefined>;
}

/** All stores, for code that opens them together. A function's dependencies name only the stores that it uses. */
export interface Stores extends MarketStores {
  readonly pipelines: PipelineStore;
  readonly runs: RunStore;
  readonly attempts: AttemptStore;
  readonly placements: PlacementStore;
  readonly timeline: TimelineStore;
  readonly testObjects: TestObjectStore;
  readonly models: ModelStore;
}
