/** What the agent measures of an attempt, and what is known of its job. */
import type { InstanceFacts } from '../catalog/catalog.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

export interface Arithmetic {
  readonly float32: number;
  readonly tf32: number;
  readonly bits16: number;
  readonly line: string | null;
}

/** One host over ten seconds, as the agent writes it. */
export interface EvidencePoint {
  /** The end of the ten seconds, ISO 8601. */
  readonly at: string;
  /** Its place among the hosts of the job, from 0. */
  readonly host: number;
  /** The lowest rank of the host. */
  readonly rank: number;
  /** Processes of the host that train, one for each accelerator as a rule; 0 on a helper. */
  readonly processes: number;
  /** Of one process: the ranks of a host step together. */
  readonly steps: number;
  /** Of all processes of the host; null where no loader tells them. */
  readonly samples: number | null;
  readonly stepSeconds: { readonly median: number; readonly p95: number };
  /** Of the wall time of a training process, the mean of those on the host. */
  readonly shares: {
    readonly wait: number;
    readonly compute: number;
    readonly save: number;
    readonly exchange: number;
  };
  /**
   * What a training process reads, decodes or waits for itself, outside of a loader: a share of its wall time that
   * `compute` holds, and the line of the script that does most of it; null where nothing looked.
   */
  readonly hostWork: { readonly share: number; readonly line: string | null } | null;
  /**
   * Floating-point operations of one step of one process by the arithmetic of their results, as far as the hooks can
   * count them (fewer than there are), and the script's line that calls the forward pass; null where none was observed.
   */
  readonly arithmetic: Arithmetic | null;
  /**
   * Per step, by how much the slowest process of the host is busier than the fastest, the exchange left out; null with
   * fewer than two.
   */
  readonly rankSkewSeconds: number | null;
  readonly loader: {
    /** Loader processes of all training processes of the host. */
    readonly workers: number;
    /** Of their wall time, what they spend on batches; null without workers. */
    readonly workerBusy: number | null;
    /** Of the workers' CPU time, what they spend in decoders of images; null where nothing tells. */
    readonly decodeShare: number | null;
    /** Samples a batch of one training process. */
    readonly batchSize: number | null;
    /** Of the wall time of a training process, the CPU time of the thread that pins its batches; null without one. */
    readonly pinBusy: number | null;
    /**
     * How often loaders of one training process started their processes again, and the share of its wall time until
     * those had given a batch; null where nothing tells.
     */
    readonly restarts: { readonly share: number; readonly count: number } | null;
  };
  /**
   * Cores in use: by training processes, by their workers, and by all programs of the host. Of a host that shares its
   * machine, `all` holds what other programs take of its cores. `runQueue` counts threads of the machine that run or could.
   */
  readonly cpu: {
    readonly cores: number;
    readonly main: number;
    readonly workers: number;
    readonly all: number;
    readonly runQueue: number;
    /** With which all training processes of the host compute; null where nothing tells. */
    readonly threads: number | null;
    /**
     * Of the wall time of a training process, how long that thread of it which waits longest could run and had no core;
     * null where the system does not tell.
     */
    readonly waitForCore: number | null;
  };
  readonly memory: {
    readonly usedBytes: number;
    readonly totalBytes: number;
    readonly majorFaultsPerSecond: number;
    readonly pageCacheBytes: number;
  };
  readonly disk: { readonly readBytesPerSecond: number; readonly writtenBytesPerSecond: number };
  readonly network: { readonly receivedBytesPerSecond: number; readonly sentBytesPerSecond: number };
  /** Means over the accelerators of the host, memory and power their sums; null where NVML sees none. */
  readonly gpu: {
    readonly busy: number;
    readonly memoryUsedBytes: number;
    readonly memoryTotalBytes: number;
    readonly powerWatts: number | null;
  } | null;
}

/** Seconds of each phase from the start of the host to the first step. */
export interface Phases {
  readonly download: number;
  /** Download of the training image. */
  readonly image?: number | undefined;
  readonly install: number;
  readonly scriptStart: number;
  readonly firstBatch: number;
  readonly firstStep: number;
}

/** Lines of the script as `data/load.py:42 main`, relative to its code folder; with the package through which it calls. */
export interface ScriptLines {
  /** Where it makes the loader that the steps take their batches from. */
  readonly loader?: string | undefined;
  /** Where it saves for longest. */
  readonly save?: string | undefined;
  /** Where it wraps its model in `DistributedDataParallel`. */
  readonly exchange?: string | undefined;
  /** Where it shards its model first: `fully_shard` or `FullyShardedDataParallel`. */
  readonly shard?: string | undefined;
  /** Where it calls `fit` of Keras. */
  readonly fit?: string | undefined;
  /** Where it makes the `PyDataset` that Keras trains from. */
  readonly pyDataset?: string | undefined;
  /** Where the data that Keras trains from is mapped, of tf.data. */
  readonly map?: string | undefined;
}

/** What the agent notes of a host's start, and of its hooks. Seconds; null where the agent cannot know, or not yet. */
export interface HostStart {
  readonly startedAt: string;
  readonly phases: { readonly [Name in Exclude<keyof Phases, 'image'>]: number | null };
  readonly hooks: HooksState;
  readonly lines: ScriptLines;
}

/** `removed`: a hook failed, or the script inside of one; it went on without all of them. `declined`: `tuning.training.instrument: false`. */
type HooksState =
  | { readonly kind: 'on' }
  | { readonly kind: 'declined' }
  | { readonly kind: 'removed'; readonly hook: string; readonly reason: string };

/** A type with its price, wherever it is bought. */
export interface PricedType {
  readonly facts: InstanceFacts;
  readonly usdPerSecond: number;
}

export interface Evidence {
  readonly points: readonly EvidencePoint[];
  readonly phases: Phases;
  /** Where remedies in the script belong; absent where no hook has found it. */
  readonly lines?: ScriptLines | undefined;
  /** What the training channel holds, downloaded or streamed. */
  readonly data: { readonly bytes: number; readonly files: number };
  readonly inputMode: 'File' | 'FastFile';
  /** What every host is. */
  readonly instance: PricedType;
  /** Types that could replace it. */
  readonly alternatives: readonly PricedType[];
  /** What the run was declared with: no remedy says it again. Absent where nothing tells. */
  readonly declaration?: Pipeline | undefined;
  /** Steps of the whole job, over which a gain is counted. */
  readonly steps: number;
  /** Runs of the last 30 days that read these data or a part of them; absent where nothing tells. */
  readonly runsPerMonth?: number | undefined;
}
