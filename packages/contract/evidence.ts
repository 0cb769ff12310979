/**
 * What the agent measures of each host: points, how its script started, and how long the steps of a limited job took.
 *
 * In: schemas for `readDocumentLines` and `readDocument`, or the key of a file. Out: points and starts. Errors: none; the schemas
 * have words for `tidewheel doctor FILE`, whose points a person may have written. The doctor, `runs/` and the benches read.
 */
import * as z from 'zod';
import {
  amount,
  count,
  type HostDocument,
  readDocument,
  readDocumentLines,
  share,
  valueOf,
  whereKnown,
} from './document.ts';
import { type NameParts, namePartsOf } from './files.ts';

/** `data/load.py:42 main`, relative to the code folder: the script may have any names, and these are shown. */
const lineOfScript = z.string().regex(/^[\w .,:<>/-]{1,200}$/);
const oneLine = whereKnown(lineOfScript);
const lineOrNull = lineOfScript.nullable().catch(null);
const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null);

/** Lines of the script, with the package through which each calls. */
export const linesSchema = z.object({
  /** Where it makes the loader that the steps take their batches from. */
  loader: oneLine,
  /** Where it saves for longest. */
  save: oneLine,
  /** Where it wraps its model in `DistributedDataParallel`. */
  exchange: oneLine,
  /** Where it shards its model first: `fully_shard` or `FullyShardedDataParallel`. */
  shard: oneLine,
  /** Where it calls `fit` of Keras. */
  fit: oneLine,
  /** Where it makes the `PyDataset` that Keras trains from. */
  pyDataset: oneLine,
  /** Where the data that Keras trains from is mapped, of tf.data. */
  map: oneLine,
});
export type ScriptLines = z.output<typeof linesSchema>;

/** One host over ten seconds. */
export const pointSchema = z.object({
  /** For how long it stands; after six hours that is a minute. */
  seconds: whereKnown(amount),
  /** The end of that time. */
  at: z.iso.datetime('write an ISO 8601 time that ends with Z'),
  /** Its place among the hosts of the job, from 0. */
  host: count,
  /** The lowest rank of the host. */
  rank: count,
  /** Processes of the host that train, one for each accelerator as a rule; 0 on a helper. */
  processes: count.default(1),
  /** Per process: the ranks of a host step together. */
  steps: count,
  /** Of all processes of the host; null where no loader reports them. */
  samples: amount.nullable(),
  stepSeconds: z.object({ median: amount, p95: amount }),
  /** Of the wall time of a training process, the mean of those on the host. */
  shares: z.object({ wait: share, compute: share, save: share, exchange: share }),
  /**
   * What a training process reads, decodes or waits for itself, outside of a loader: a share of its wall time that
   * `compute` contains, and the line of the script that does most of it; null where nothing looked.
   */
  hostWork: orNull(z.object({ share, line: lineOrNull })),
  /**
   * Floating-point operations of one step of one process by the arithmetic of their results, as far as the hooks can
   * count them (fewer than there are), and the script's line that calls the forward pass; null where none was observed.
   */
  arithmetic: orNull(z.object({ float32: amount, tf32: amount, bits16: amount, line: lineOrNull })),
  /**
   * Per step, by how much the slowest process of the host is busier than the fastest, the exchange left out; null with
   * fewer than two.
   */
  rankSkewSeconds: orNull(amount),
  loader: z.object({
    /** Loader processes of all training processes of the host. */
    workers: count,
    /** Of their wall time, what they spend on batches; null without workers. */
    workerBusy: share.nullable(),
    /** Of the workers' CPU time, what they spend in decoders of images; null if unknown. */
    decodeShare: orNull(share),
    /** Samples a batch of one training process. */
    batchSize: amount.nullable(),
    /** Of the wall time of a training process, the CPU time of the thread that pins its batches; null without one. */
    pinBusy: orNull(share),
    /**
     * How often loaders of one training process started their processes again, and the share of its wall time until
     * those had given a batch; null if unknown.
     */
    restarts: orNull(z.object({ share, count: amount })),
  }),
  /**
   * Cores in use: by training processes, by their workers, and by all programs of the host. On a host that shares its
   * machine, `all` contains what other programs take of its cores. `runQueue` counts threads of the machine that run or could.
   */
  cpu: z.object({
    cores: amount.positive('write a number above 0'),
    main: amount,
    workers: amount,
    all: amount,
    runQueue: amount,
    /** With which all training processes of the host compute; null if unknown. */
    threads: orNull(count),
    /**
     * Of the wall time of a training process, how long that thread of it which waits longest could run and had no core;
     * null if unknown.
     */
    waitForCore: orNull(share),
  }),
  memory: z.object({
    usedBytes: amount,
    totalBytes: amount.positive('write a number above 0'),
    majorFaultsPerSecond: amount,
    pageCacheBytes: amount,
  }),
  disk: z.object({ readBytesPerSecond: amount, writtenBytesPerSecond: amount.default(0) }),
  network: z.object({ receivedBytesPerSecond: amount, sentBytesPerSecond: amount }),
  /** Means over the accelerators of the host, memory and power their sums; null where NVML sees none. */
  gpu: z
    .object({ busy: share, memoryUsedBytes: amount, memoryTotalBytes: amount, powerWatts: orNull(amount) })
    .nullable(),
});
export type EvidencePoint = z.output<typeof pointSchema>;
export type Arithmetic = NonNullable<EvidencePoint['arithmetic']>;

/** It is shown, and goes on the timeline. */
const short = z.string().transform((text) => text.slice(0, 500));
const seconds = amount.nullable();

const startSchema = z.object({
  startedAt: z.iso.datetime(),
  /** Null where the agent cannot know, or not yet. */
  phases: z.object({
    download: seconds,
    install: seconds,
    scriptStart: seconds,
    firstBatch: seconds,
    firstStep: seconds,
  }),
  /** removed: a hook failed, or the script inside of one; it went on without all of them. declined: `tuning.training.instrument: false`. */
  hooks: z.object({
    kind: z.enum(['on', 'declined', 'removed']),
    hook: whereKnown(short),
    reason: whereKnown(short),
  }),
  lines: linesSchema.default({}).catch({}),
  /** Seconds in which batches came between the first one and the first step. */
  batchesBeforeStep: whereKnown(amount),
  /** The same of a script that resumed, beyond those of the run's first start: it reads again, and skips. */
  skipped: whereKnown(amount),
  /** What pip is at; absent once the script has started. */
  installing: whereKnown(z.object({ what: short, packages: count })),
});
export type HostStart = z.output<typeof startSchema>;

const blocksSchema = z
  .object({
    /** printed: the script's own lines said the steps, because its framework has no hooks. */
    basis: z.enum(['hooks', 'printed']),
    /** host: on one machine, where the clock of each host counts the CPU time that it got (docs/probing.md). */
    clock: z.enum(['machine', 'host']).default('machine'),
    /** All of them; the first fifth is in no block. */
    steps: count,
    /** Of all processes of the host; null where no loader reports them. */
    samplesPerStep: amount.nullable(),
    /** The mean step of each block. */
    blockSeconds: z.array(amount.positive()).min(1).max(100_000),
    blockSteps: z.array(count.min(1)),
  })
  .refine(({ blockSeconds, blockSteps }) => blockSeconds.length === blockSteps.length);
export type StepBlocks = z.output<typeof blocksSchema>;

export const evidencePoint = { name: 'points', version: 1, schema: pointSchema } satisfies HostDocument;
export const hostStart = { name: 'hostStart', version: 1, schema: startSchema } satisfies HostDocument;
export const stepBlocks = { name: 'stepBlocks', version: 1, schema: blocksSchema } satisfies HostDocument;

/** What a key below `bucketKeys.evidence` names, or undefined for another one. */
export function evidenceFileOf(key: string): (NameParts & { readonly kind: 'points' | 'start' }) | undefined {
  const [ofPoints, ofStart] = [namePartsOf('points', key), namePartsOf('hostStart', key)];
  if (ofPoints) return { kind: 'points', ...ofPoints };
  return ofStart && { kind: 'start', ...ofStart };
}

export const readPoints = (text: string): readonly EvidencePoint[] => readDocumentLines(evidencePoint, text);
export const readHostStart = (text: string): HostStart | undefined => valueOf(readDocument(hostStart, text));
