/** What the agent measures of an attempt, and what is known of its job. */
import type { InstanceFacts } from '../catalog/catalog.ts';

/** One host over ten seconds, as the agent writes it. */
export interface Point {
  /** The end of the ten seconds, ISO 8601. */
  readonly at: string;
  readonly host: number;
  readonly rank: number;
  readonly steps: number;
  readonly samples: number | null;
  readonly stepSeconds: { readonly median: number; readonly p95: number };
  /** Of the wall time of the training process. */
  readonly shares: {
    readonly wait: number;
    readonly compute: number;
    readonly save: number;
    readonly exchange: number;
  };
  readonly loader: {
    readonly workers: number;
    readonly workerBusy: number | null;
    readonly batchSize: number | null;
  };
  /** Cores in use; `runQueue` counts processes that run or could. */
  readonly cpu: {
    readonly cores: number;
    readonly main: number;
    readonly workers: number;
    readonly all: number;
    readonly runQueue: number;
  };
  readonly memory: {
    readonly usedBytes: number;
    readonly totalBytes: number;
    readonly majorFaultsPerSecond: number;
    readonly pageCacheBytes: number;
  };
  readonly disk: { readonly readBytesPerSecond: number };
  readonly network: { readonly receivedBytesPerSecond: number; readonly sentBytesPerSecond: number };
  readonly gpu: {
    readonly busy: number;
    readonly memoryUsedBytes: number;
    readonly memoryTotalBytes: number;
  } | null;
}

/** Seconds of each phase from the start of the host to the first step. */
interface Phases {
  readonly download: number;
  readonly install: number;
  readonly scriptStart: number;
  readonly firstBatch: number;
  readonly firstStep: number;
}

/** A type with its price, wherever it is bought. */
export interface PricedType {
  readonly facts: InstanceFacts;
  readonly usdPerSecond: number;
}

export interface Evidence {
  readonly points: readonly Point[];
  readonly phases: Phases;
  /** What the training channel holds, downloaded or streamed. */
  readonly data: { readonly bytes: number; readonly files: number };
  readonly inputMode: 'File' | 'FastFile';
  /** What every host is. */
  readonly instance: PricedType;
  /** Types that could replace it. */
  readonly alternatives: readonly PricedType[];
  /** Steps of the whole job, over which a gain is counted. */
  readonly steps: number;
}
