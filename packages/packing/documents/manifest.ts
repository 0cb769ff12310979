/** The manifest, which makes a generation exist, and the lines of its arrivals. */
import {
  formatNameSchema,
  isUnpacked,
  joinSchema,
  splitSchema,
} from '@tidewheel/declaration/packing-settings.ts';
import * as z from 'zod';
import {
  balanceSchema,
  columnsSchema,
  documentVersion,
  dotsSchema,
  evenSchema,
  plannedAnnotationsSchema,
  plannedSplitSchema,
  preparedSchema,
  shardSums,
} from './documents.ts';
import { rejectionSchema } from './rejections.ts';

const sealedShardSchema = z.object({
  name: z.string(),
  bytes: z.number().int(),
  ...shardSums,
  etag: z.string(),
  samples: z.number().int(),
  members: z.number().int(),
  memberList: z.string(),
  memberListSha256: z.string(),
});

/** Arrivals that a later generation packs. */
const leftSchema = z.object({
  byReason: z.record(z.string(), z.number().int()),
  /** Unreadable ones by the store's error code. */
  byCode: z.record(z.string(), z.number().int()).optional(),
  /** Of those that wait for other objects: when the one that waits longest arrived, ISO 8601. */
  since: z.string().optional(),
  examples: z.array(
    z.object({
      key: z.string(),
      reason: z.string(),
      code: z.string().optional(),
      since: z.string().optional(),
    }),
  ),
});
export type LeftArrivals = z.infer<typeof leftSchema>;

/** What two generations must have in common to be joined; empty for a format that needs nothing. */
const dataSchema = z.object({
  columns: z.array(z.string()).optional(),
  csvHeader: z.string().optional(),
  /** The header that the sources had and the shards lack. Absent of earlier releases. */
  droppedHeader: z.string().optional(),
  labelType: z.string().optional(),
  kind: z.string().optional(),
});

/** A generation that was joined from others. */
const compactedSchema = z.object({
  /** The joined generations, oldest first; those that only rejected arrivals too. */
  of: z.array(z.string()),
  /** Above the numbers of all samples. */
  numbers: z.number().int(),
  /** When those began that its arrivals come from, ISO 8601, oldest first. Absent of earlier releases. */
  listings: z.array(z.string()).optional(),
});

/** Shards that one run alone reads: what a model has not seen, and a share of what it has. */
export const drawnSchema = z.object({
  run: z.string(),
  /** The share of earlier samples, 0 to 1. */
  replay: z.number(),
  /** Samples that train, those of whole generations too. */
  new: z.int(),
  replayed: z.int(),
  earlier: z.int(),
});
export type DrawnSamples = Readonly<z.infer<typeof drawnSchema>>;

/** What the members say about themselves, summed up; copies are not counted. */
const contentSchema = z.object({
  /** Prepared images. Mean and standard deviation of red, green and blue over all pixels, from 0 to 1. */
  images: z
    .object({
      count: z.number().int(),
      pixels: z.number().int(),
      mean: z.array(z.number()),
      std: z.array(z.number()),
    })
    .optional(),
  /** Texts that were not copied by the store. */
  text: z.object({ members: z.number().int(), lines: z.number().int(), tokens: z.number().int() }).optional(),
});

/** What was sealed of a planned split; `samples` counts copies too. */
const sealedSplitSchema = plannedSplitSchema.extend({
  shards: z.number().int(),
  samples: z.number().int(),
  bytes: z.number().int(),
});

/** manifest.json of a generation. References are relative to the generation's folder. */
export const manifestSchema = z.object({
  version: documentVersion,
  pipeline: z.string(),
  generation: z.string(),
  format: formatNameSchema,
  /** As declared. Absent of earlier releases. */
  labelRule: z
    .object({ label: z.string(), labelPattern: z.string().optional(), labelLevel: z.int().optional() })
    .optional(),
  /** As of imageRuleOf(). Absent of earlier releases. */
  imageRule: z.record(z.string(), z.unknown()).optional(),
  /** The dataset's. Absent where earlier releases began it: then any word is one. */
  innerSuffixes: z.array(z.string()).optional(),
  /** As declared. */
  join: joinSchema.optional(),
  dots: dotsSchema.optional(),
  schema: dataSchema,
  compacted: compactedSchema.optional(),
  /** It is no part of the dataset, and has no arrivals. */
  drawn: drawnSchema.optional(),
  /** Each shard is a gzip file; offsets of members are those of the plain bytes. */
  compression: z.literal('gzip').optional(),
  seed: z.number().int(),
  plan: z.string(),
  /** Folder of the shards, as in the plan. */
  revision: z.string().optional(),
  listedAt: z.string(),
  samples: z.number().int(),
  members: z.number().int(),
  /** Copies of samples, which even out counts or classes. `samples` counts them too. */
  repeated: z.number().int().default(0),
  bytes: z.number().int(),
  shards: z.array(sealedShardSchema),
  /** Indexes over the shards among them, relative to their folder. Absent of a format without, and of earlier releases. */
  indexes: z.array(z.string()).optional(),
  arrivals: z.object({
    objects: z.number().int(),
    packed: z.number().int(),
    rejected: z.number().int(),
    deferred: z.number().int(),
    /** Sorted lists of all arrivals that this generation packed or rejected. */
    parts: z.array(
      z.object({
        list: z.string(),
        sha256: z.string(),
        lines: z.number().int(),
        first: z.string(),
        last: z.string(),
      }),
    ),
  }),
  left: leftSchema.optional(),
  columns: columnsSchema.optional(),
  /** As in the plan. */
  learnt: z.array(z.string()).optional(),
  annotations: plannedAnnotationsSchema.optional(),
  even: evenSchema.optional(),
  /** As declared. All generations of a version have the same, so that no group is in two splits. */
  split: splitSchema.optional(),
  splits: z.array(sealedSplitSchema).optional(),
  /** The number of shards is a multiple of this number of workers. */
  workers: z.number().int().optional(),
  balance: balanceSchema.optional(),
  prepared: preparedSchema.optional(),
  /** Every class of this generation and all before it: its place is its number. */
  labels: z.array(z.string()).optional(),
  content: contentSchema.optional(),
  /**
   * As in the plan, with arrivals that were retracted since. Such a generation enters the dataset only by a compaction,
   * without the samples that it replaces.
   */
  changes: z.number().int().optional(),
  /** The number of retractions that its samples follow. */
  retractions: z.int().optional(),
  /** Its shards were deleted. */
  pruned: z.literal(true).optional(),
  rejections: z.object({
    byReason: z.record(z.string(), z.number().int()),
    examples: z.array(
      z.object({
        key: z.string(),
        reason: z.string(),
        /** Only of a member of a bundle, which is read by it. */
        etag: z.string().optional(),
        size: z.int().optional(),
      }),
    ),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** Whether there is nothing to train on: all arrivals were rejected, or it only removes samples. */
export const holdsNothing = ({
  format,
  shards,
  samples,
}: Pick<Manifest, 'format' | 'shards' | 'samples'>): boolean =>
  isUnpacked({ format }) ? samples === 0 : shards.length === 0;

/**
 * A line of a generation's arrivals: key, ETag, bytes, and the shard's number or the reason of the rejection. For
 * `unchanged`, the ETag of the object with the same bytes follows, and for `retracted` a sum of the bytes. In a joined generation the version of the
 * annotations follows, under which a label was missing, unless it is the manifest's; and the index of the listing that
 * the arrival comes from, unless it is the oldest.
 */
export const sealedLine = z.tuple([
  z.string(),
  z.string(),
  z.number(),
  z.union([z.number(), rejectionSchema]),
  z.string().nullable().optional(),
  z.int().optional(),
]);
export type SealedLine = z.infer<typeof sealedLine>;
