/**
 * The documents that packing stores in the bucket, and the lines of their lists. Each document has a version, and
 * readDocument() checks its form, because the bucket is not trusted.
 */

import { SPLITS } from '@tidewheel/declaration/packing-settings.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import { readVersioned, type StoredKind, whyUnread } from '@tidewheel/kit/stored.ts';
import { tableOf } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';
import { hasSum, type KeptSums } from './blob-store.ts';
import { deferralSchema, exclusionSchema, rejectionSchema } from './rejections.ts';

/**
 * Of each document, until its form changes. Then its kind gets a version of its own and an `upgrade`; a plan without one is
 * made again, and every other document of the old version is refused.
 */
export const DOCUMENT_VERSION = 1;
export const documentVersion = z.literal(DOCUMENT_VERSION);

/** A stored document is damaged, or has another version. */
export class DocumentError extends Error {
  override readonly name: string = 'DocumentError';
}

/** Another release can read it, so its run is held. */
class DocumentVersionError extends DocumentError {
  override readonly name = 'DocumentVersionError';
}

/** @throws DocumentError */
export function readDocument<Schema extends z.ZodType>(
  kind: StoredKind<Schema>,
  key: string,
  text: string,
): z.output<Schema> {
  const reading = readVersioned(kind, parseJson(text));
  if (reading.kind === 'read') return reading.value;
  if (reading.kind !== 'unreadable' && reading.version !== undefined)
    throw new DocumentVersionError(whyUnread(key, kind, reading));
  throw new DocumentError(
    `${key} is damaged: restore it from an older version of the object or from a copy`,
    { cause: reading },
  );
}

/**
 * A line of a plan's arrivals. It holds key, bytes and ETag. Then come the sample's number and whether the arrival
 * stands alone (1), or the reason of its rejection, or why it waits and since when (seconds since 1970).
 */
const arrivalLine = z.union([
  z.tuple([z.string(), z.number(), z.string(), z.number(), z.union([z.literal(0), z.literal(1)])]),
  z.tuple([z.string(), z.number(), z.string(), rejectionSchema]),
  z.tuple([z.string(), z.number(), z.string(), deferralSchema, z.number()]),
]);
export type ArrivalLine = z.infer<typeof arrivalLine>;

/** The common kind of line is checked by hand, which is faster than the schema. */
export function parseArrival(line: string): ArrivalLine {
  const value: unknown = JSON.parse(line);
  return isPlanned(value) ? value : arrivalLine.parse(value);
}

const isPlanned = (value: unknown): value is [string, number, string, number, 0 | 1] =>
  Array.isArray(value) &&
  value.length === 5 &&
  typeof value[0] === 'string' &&
  typeof value[1] === 'number' &&
  typeof value[2] === 'string' &&
  typeof value[3] === 'number' &&
  (value[4] === 0 || value[4] === 1);

/**
 * A line of an item's list: shard, slot in the shard, number of the sample, key, bytes, ETag, whether the arrival
 * stands alone, number of the copy (0: the sample itself), and the sample's label from a file of annotations.
 */
export const listLine = z.tuple([
  z.number(),
  z.number(),
  z.number(),
  z.string(),
  z.number(),
  z.string(),
  z.union([z.literal(0), z.literal(1)]),
  z.number(),
  z.string().optional(),
]);

export interface PlannedMember {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly alone: boolean;
}

export interface PlannedSample {
  readonly ordinal: number;
  /** 0: the sample itself. Any other number: a copy that evens out counts or classes. No two copies share a number. */
  readonly repeat: number;
  /** From a file of annotations. */
  readonly label?: string | undefined;
  readonly members: readonly PlannedMember[];
}

/** The file of annotations as it was when the plan was made. */
export const plannedAnnotationsSchema = z.object({
  /** Name and ETag of the file, and its columns. Those are absent of earlier releases. */
  version: z.string(),
  /** Of a joined generation, of which some samples may have been labelled by an older version. */
  older: z.literal(true).optional(),
  rows: z.number().int(),
  byProblem: z.record(z.string(), z.number().int()),
  /** What the first row that names no object says, as a key under incoming/. */
  unknown: z.string().optional(),
  /**
   * Compressed lines of row number, key and problem: the row names no object, one that another row names too, or
   * nothing.
   */
  problems: z.object({ list: z.string(), sha256: z.string() }).optional(),
});

/** Samples of each class as they arrived, and as they were planned with their copies. */
export const balanceSchema = z.object({
  mode: z.enum(['over', 'under']),
  classes: tableOf(
    z.object({
      samples: z.number().int(),
      planned: z.number().int(),
      /** Counted in the sealed shards: without samples that were rejected while they were read, with copies. */
      sealed: z.number().int().optional(),
    }),
  ),
});

/** Each of the first `shards` shards holds `samples` samples, or none. Each of the others holds one large sample. */
export const evenSchema = z.object({ shards: z.number().int(), samples: z.number().int() });
export type EvenCounts = z.infer<typeof evenSchema>;

/** The shards of one split. Their numbers follow each other. */
export const plannedSplitSchema = z.object({
  name: z.enum(SPLITS),
  /** Number of its first shard. */
  first: z.number().int(),
  even: evenSchema.optional(),
});
export type PlannedSplit = z.infer<typeof plannedSplitSchema>;

/** Sizes of images before and after their preparation: by shard in the records, summed up in the manifest. */
export const preparedSchema = z.object({
  /** Versions of the libraries and the processor's architecture. The bytes depend on nothing else. */
  by: z.array(z.string()),
  images: z.number().int(),
  sourceBytes: z.number().int(),
  bytes: z.number().int(),
});
export type PreparedTotals = z.infer<typeof preparedSchema>;

/** Of SampleColumns. */
export const columnsSchema = z.object({ samples: z.number().int(), columns: tableOf(z.number().int()) });

const dottedSchema = z.object({ objects: z.int(), example: z.string() });

/** Keys with dots inside their names, as of dotsIn(), and keys that joined another one by the same name. */
export const dotsSchema = z.object({
  joined: dottedSchema.optional(),
  named: dottedSchema.optional(),
  paired: dottedSchema.optional(),
});
export type Dots = z.infer<typeof dotsSchema>;

/** The committed plan of a run. Its digest says which draft of the lists counts. */
export const planSchema = z.object({
  version: documentVersion,
  pipeline: z.string(),
  runId: z.string(),
  /** Names the folder of the lists. */
  digest: z.string(),
  listedAt: z.string(),
  shards: z.number().int(),
  samples: z.number().int(),
  objects: z.number().int(),
  bytes: z.number().int(),
  rejected: z.number().int(),
  /** Planned arrivals of keys that earlier generations know. Above 0; absent if changed objects are kept. */
  changes: z.number().int().optional(),
  innerSuffixes: z.array(z.string()).optional(),
  dots: dotsSchema.optional(),
  /** The number of retractions before its listing. */
  retractions: z.int().optional(),
  /** Samples that may have the bytes that the dataset holds (held-samples.ts). Above 0. */
  held: z.number().int().optional(),
  sourceSchema: z.object({ columns: z.array(z.string()), csvHeader: z.string().optional() }),
  /** Samples that a later generation packs, so that the shards have equal counts. */
  dropped: z.array(z.number().int()),
  /** Columns that samples must have, as learnt from the first generation. */
  learnt: z.array(z.string()).optional(),
  /** As they arrived. Absent for formats of files. */
  columns: columnsSchema.optional(),
  annotations: plannedAnnotationsSchema.optional(),
  even: evenSchema.optional(),
  /** In the order of their shards. Each has the even counts of its own. */
  splits: z.array(plannedSplitSchema).optional(),
  balance: balanceSchema.optional(),
  /** Folder of its shards, if it replaced another plan, whose shards may lie there too. */
  revision: z.string().optional(),
  /** The number of shards is a multiple of this, as declared or for likely readers. Above 1. */
  workers: z.number().int().optional(),
  /** Images are prepared with exactly this version, because another may give other bytes. */
  prepare: z.object({ engine: z.string() }).optional(),
  /** Compressed parts of the sorted arrivals. */
  arrivalParts: z.number().int(),
  /** First shard of each item and, last, the number of shards. */
  itemShards: z.array(z.number().int()),
});
export type Plan = z.infer<typeof planSchema>;

export const itemSchema = z.strictObject({ item: z.number().int(), plan: z.string() });
export type PlanItem = z.infer<typeof itemSchema>;

/** Of an object, of a shard or of a part of it: of a shard one, of the kind that its large members brought. */
export const shardSums = {
  crc32: z.string().optional(),
  crc32c: z.string().optional(),
  crc64nvme: z.string().optional(),
};

/** What a member's own bytes say about it. Headers are believed, and nothing is known of most members. */
const mediaFactsSchema = z.object({
  /** Pixels. */
  width: z.number().optional(),
  height: z.number().optional(),
  /** Of a prepared image: 64 bits in 16 hexadecimal digits, and the channels from 0 to 255. */
  dhash: z.string().optional(),
  mean: z.array(z.number()).readonly().optional(),
  std: z.array(z.number()).readonly().optional(),
  /** Of audio and video. */
  seconds: z.number().optional(),
  /** Samples of the audio or, of a file with video, frames per second. */
  rate: z.number().optional(),
  /** Of text; tokens are separated by blanks and control characters. */
  lines: z.number().optional(),
  tokens: z.number().optional(),
  /** It is no UTF-8. */
  notText: z.literal(true).optional(),
  /** How many of its lines are no JSON; 1 for a JSON document that is none. */
  notJson: z.number().optional(),
});
export type MediaFacts = Readonly<z.infer<typeof mediaFactsSchema>>;

/** A line of a shard's member list, in the shard's order. A source that the store copied has a sum in place of the digest. */
export const memberLine = z.object({
  ...shardSums,
  /** Path in the shard. */
  name: z.string(),
  /** The source's key; absent for a member that packing made (a label). */
  key: z.string().optional(),
  etag: z.string().optional(),
  size: z.number(),
  /** First byte of the data in the shard. */
  offset: z.number(),
  sha256: z.string(),
  /** Number of the sample in the plan. */
  sample: z.number(),
  made: z.literal('label').optional(),
  /** The class, of a label that packing made or of a label file that arrived. */
  label: z.string().optional(),
  /** The class that the declaration would give, if a label file says another one. */
  declared: z.string().optional(),
  /** The object that was read, if the member was prepared from it. */
  source: z.object({ size: z.number(), sha256: z.string() }).optional(),
  /** Number of the copy; absent for the sample itself. */
  repeat: z.number().optional(),
  /** Only its length and ETag guard the source, because the store has no checksum of it. */
  unchecked: z.literal(true).optional(),
  /** Column of the sample, in formats that have columns. */
  column: z.string().optional(),
  media: mediaFactsSchema.optional(),
});
export type MemberLine = Readonly<z.infer<typeof memberLine>>;

/** The bytes of a copied source are known by its checksum, and all others by their digest. */
export const isCopied = (line: KeptSums): boolean => hasSum(line);

/** Equal for equal bytes that were packed in the same way. */
export const contentOf = ({ crc32, crc32c, crc64nvme, sha256 }: MemberLine): string =>
  crc32 ?? crc32c ?? crc64nvme ?? sha256;

/** The record that commits one shard: its bytes, and the upload that any worker can complete. */
export const shardRecordSchema = z.object({
  version: documentVersion,
  shard: z.number().int(),
  name: z.string(),
  key: z.string(),
  bytes: z.number().int(),
  ...shardSums,
  samples: z.number().int(),
  members: z.number().int(),
  upload: z
    .object({ id: z.string(), parts: z.array(z.object({ etag: z.string(), ...shardSums })) })
    .optional(),
  memberList: z.object({ key: z.string(), sha256: z.string() }),
  prepared: preparedSchema.optional(),
  exclusions: z.array(exclusionSchema),
});
export type ShardRecord = z.infer<typeof shardRecordSchema>;
