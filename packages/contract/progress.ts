/**
 * What the agent says of checkpoints: the progress note, the manifest of kept copies, and the marker of a whole one.
 *
 * In: schemas for `readDocument`. Out: the newest checkpoint of a run and its files. Errors: none. `runs/progress.ts` reads
 * the note and the marker, and the agent reads all three. Scripts write markers of their own (docs/training.md).
 */
import * as z from 'zod';
import { amount, count, type HostDocument, whereKnown } from './document.ts';

/** What S3 takes for a key. */
const name = z.string().min(1).max(1_024);
const atMost = (most: number) => (record: object) => Object.keys(record).length <= most;

/** The agent walks no more files of a checkpoint folder. */
const MOST_FILES = 100_000;
const files = z
  .record(
    name,
    z.object({
      bytes: count,
      /** What S3's will be if the object comes in parts of 8 MiB, or in one. */
      etag: whereKnown(z.string().regex(/^[0-9a-f]{32}(?:-[1-9]\d{0,4})?$/)),
    }),
  )
  .refine(atMost(MOST_FILES));
export type FileSizes = z.output<typeof files>;

/** They are kept on record, and an item of DynamoDB has 400 KB and numbers below 1e126. */
const MOST_METRICS = 500;
const metrics = z.record(z.string().max(200), z.number().min(-1e100).max(1e100)).refine(atMost(MOST_METRICS));
const percent = z.number().min(0).max(100);

/** `saves` counts checkpoints of unknown position. */
export const progressUnit = z.enum(['step', 'epoch', 'saves']);

export const savedCheckpoint = z.object({
  step: count,
  /** 0 where the script does not say. */
  totalSteps: count,
  trainingSeconds: amount.optional(),
  saveSeconds: amount.optional(),
  /** Means over the attempt, on the first training host. */
  usage: whereKnown(z.object({ cpuPercent: percent.optional(), gpuPercent: percent.optional() })),
  /** Since the note before, on the first training host; samples of all its processes. */
  pace: whereKnown(
    z.object({
      stepsPerSecond: amount,
      samplesPerSecond: amount.optional(),
      /** Median and 95th percentile. */
      stepSeconds: amount.optional(),
      stepSecondsP95: amount.optional(),
    }),
  ),
  metrics: whereKnown(metrics),
  checkpoint: name.refine((folder) => !folder.includes('..') && !folder.startsWith('/')),
  /** What the step counts. */
  unit: whereKnown(progressUnit),
  /** quiet: the format is unknown, and no file changed for a while. */
  proof: whereKnown(z.enum(['whole', 'quiet'])),
  /** By name, relative to the checkpoint prefix. */
  files: files.optional(),
  updatedAt: z.iso.datetime({ offset: true }),
});
export type SavedCheckpoint = z.output<typeof savedCheckpoint>;

/** The agent keeps eight. */
const MOST_KEPT = 20;

export const progressNote = {
  name: 'progress',
  version: 1,
  schema: savedCheckpoint.extend({
    /** Copies of the last whole checkpoints, newest first, of a script that saves over its own files. */
    kept: whereKnown(z.array(savedCheckpoint).max(MOST_KEPT)),
  }),
} satisfies HostDocument;

export type ProgressNote = z.output<typeof progressNote.schema>;

/** The service copies it with its files and does not read it. Its names are those of release 0.1.0. */
export const keptManifest = {
  name: 'kept',
  version: 1,
  schema: z.object({
    sequence: count,
    /** By the name relative to the checkpoint folder. */
    files: z.record(
      z.string(),
      z.object({
        /** Name of the copy. */
        part: z.string(),
        bytes: count,
        sha256: z.string(),
        modified_ns: z.number().min(0).meta({ format: 'int64' }),
        /** The name of the checkpoint to which the file belongs. */
        checkpoint: z.string(),
        /** The checkpoint says its own step. Others belong together with their neighbours. */
        has_position: z.boolean(),
        is_weak: z.boolean(),
      }),
    ),
    /** The progress note of that moment, as it stood: it is put back with the files. */
    note: z.record(z.string(), z.unknown()),
  }),
} satisfies HostDocument;

/** Written last into a checkpoint folder. Scripts write it, too: whatever else they put there stays. */
export const completionMarker = {
  name: 'completion',
  version: 1,
  schema: z.object({
    /** `automatic` where the hooks saved it: only they restore it. */
    writer: whereKnown(z.string()),
    /** For people: the folder's name counts. */
    step: whereKnown(count),
    totalSteps: whereKnown(count),
    trainingSeconds: whereKnown(amount),
    /** Of any value: what is no number is passed over, and does not cost the others. */
    metrics: whereKnown(z.record(z.string(), z.unknown())),
    /** By name, relative to the checkpoint's folder. */
    files: z
      .record(name, z.object({ bytes: count, sha256: whereKnown(z.string()) }))
      .refine(atMost(MOST_FILES)),
    /** Names of files that other hosts saved: all come together in the bucket. */
    elsewhere: whereKnown(z.array(name)),
    /** Unix seconds at which the training had this state. */
    takenAt: whereKnown(amount),
  }),
} satisfies HostDocument;
