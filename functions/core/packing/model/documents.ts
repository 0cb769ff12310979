/** What packing writes about itself, line by line and object by object. Shapes are parsed when read: the bucket is not trusted. */
import * as z from 'zod';
import { formatNameSchema } from '../../pipeline/shard-formats.ts';
import { tableOf } from '../../shared/tables.ts';
import { exclusionSchema, rejectionSchema } from './rejections.ts';

/** A line of a plan's arrivals: key, bytes, ETag, then the sample's number and whether it stands alone, or the rejection. */
export const arrivalLine = z.union([
  z.tuple([z.string(), z.number(), z.string(), z.number(), z.union([z.literal(0), z.literal(1)])]),
  z.tuple([z.string(), z.number(), z.string(), rejectionSchema]),
]);
export type ArrivalLine = z.infer<typeof arrivalLine>;

/**
 * A line of an item's list: shard, slot in the shard, sample number, key, bytes, ETag, stands alone, which copy of the
 * sample it is (0: the sample itself), and the label that a file of annotations gives the sample.
 */
export type ListLine = readonly [number, number, number, string, number, string, 0 | 1, number, string?];

export interface PlannedMember {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly alone: boolean;
}

export interface PlannedSample {
  readonly ordinal: number;
  /** 0: the sample itself. Otherwise a copy of it, which evens out counts or classes; no two have one number. */
  readonly repeat: number;
  /** From a file of annotations. */
  readonly label?: string | undefined;
  readonly members: readonly PlannedMember[];
}

/** What a file of annotations had to say, as the plan found it. */
const annotationsSchema = z.object({
  /** Name and ETag. */
  version: z.string(),
  rows: z.number().int(),
  byProblem: z.record(z.string(), z.number().int()),
  /** Rows that name no object, or one that another row names too, or nothing: compressed lines of number, key, problem. */
  problems: z.object({ list: z.string(), sha256: z.string() }).optional(),
});

/** Samples of each class as they arrived and as they were dealt to shards, copies included. */
const balanceSchema = z.object({
  mode: z.enum(['over', 'under']),
  classes: tableOf(
    z.object({
      samples: z.number().int(),
      dealt: z.number().int(),
      /** Counted in the sealed shards: what was rejected while it was read is missing, what evens out counts is in. */
      sealed: z.number().int().optional(),
    }),
  ),
});

/** The first `shards` shards hold `samples` samples each, or none at all; the others hold one large sample each. */
const evenSchema = z.object({ shards: z.number().int(), samples: z.number().int() });

/** What prepared images were before and are now; recorded by shard and summed up in the manifest. */
const preparedSchema = z.object({
  /** Versions of what decoded and encoded them, and the processor's architecture: all that the bytes depend on. */
  by: z.array(z.string()),
  images: z.number().int(),
  sourceBytes: z.number().int(),
  bytes: z.number().int(),
});
export type PreparedTotals = z.infer<typeof preparedSchema>;

/** The committed plan of a run: the only thing that says which draft of the lists counts. */
export const planSchema = z.object({
  version: z.literal(1),
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
  facts: z.object({ columns: z.array(z.string()), csvHeader: z.string().optional() }),
  /** Samples left to a later generation so that shards have equal counts. */
  dropped: z.array(z.number().int()),
  annotations: annotationsSchema.optional(),
  even: evenSchema.optional(),
  balance: balanceSchema.optional(),
  /** Names the folder of its shards, when it was made in the place of another plan, whose shards may lie there too. */
  revision: z.string().optional(),
  /** Of which the number of shards was to be a multiple, or is for likely readers; above 1. */
  workers: z.number().int().optional(),
  /** Images are prepared, by this very version: another would give other bytes. */
  prepare: z.object({ engine: z.string() }).optional(),
  /** How arrivals and item lists are compressed; with gzip by releases that did not say it. */
  lists: z.literal('zstd').optional(),
  /** Compressed parts of the sorted arrivals. */
  arrivalParts: z.number().int(),
  /** First shard of each item and, last, the number of shards. */
  itemShards: z.array(z.number().int()),
});
export type Plan = z.infer<typeof planSchema>;

export const itemSchema = z.strictObject({ item: z.number().int(), plan: z.string() });
export type PlanItem = z.infer<typeof itemSchema>;

/** A line of a shard's member list, in the shard's order. */
export interface MemberLine {
  /** Path inside the shard. */
  readonly name: string;
  /** Source; absent for members that packing made (a label). */
  readonly key?: string;
  readonly etag?: string;
  readonly size: number;
  /** First byte of the data in the shard. */
  readonly offset: number;
  readonly sha256: string;
  /** CRC-32 in 8 hexadecimal digits, of what the store copied itself: nobody read it to make a digest. */
  readonly crc32?: string;
  /** Number of the sample in the plan. */
  readonly sample: number;
  readonly made?: 'label';
  /** Text of a label that packing made. */
  readonly label?: string;
  /** The object as it was read, where what is in the shard was prepared from it. */
  readonly source?: { readonly size: number; readonly sha256: string };
  /** Which copy of a sample that is there already; true was written for the first one. */
  readonly repeat?: number | true;
  /** Column of the sample, in formats that have columns. */
  readonly column?: string;
}

/** The decision on one shard: whoever finishes the upload, it is these bytes. */
export const shardRecordSchema = z.object({
  version: z.literal(1),
  shard: z.number().int(),
  name: z.string(),
  key: z.string(),
  bytes: z.number().int(),
  crc32: z.string(),
  samples: z.number().int(),
  members: z.number().int(),
  upload: z
    .object({ id: z.string(), parts: z.array(z.object({ etag: z.string(), crc32: z.string() })) })
    .optional(),
  memberList: z.object({ key: z.string(), sha256: z.string() }),
  prepared: preparedSchema.optional(),
  exclusions: z.array(exclusionSchema),
});
export type ShardRecord = z.infer<typeof shardRecordSchema>;

const sealedShardSchema = z.object({
  name: z.string(),
  bytes: z.number().int(),
  crc32: z.string(),
  etag: z.string(),
  samples: z.number().int(),
  members: z.number().int(),
  memberList: z.string(),
  memberListSha256: z.string(),
});

/** What the shards of two generations must have in common to be joined: formats that need nothing leave it empty. */
const shapeSchema = z.object({
  columns: z.array(z.string()).optional(),
  csvHeader: z.string().optional(),
  labelType: z.string().optional(),
  kind: z.string().optional(),
});

/** A generation that was made of others. */
const compactedSchema = z.object({
  /** Generations whose shards it holds, and those that only rejected; oldest first. */
  of: z.array(z.string()),
  /** All numbers of samples are below this. */
  numbers: z.number().int(),
});

/** manifest.json of a generation. References are relative to the generation's folder. */
export const manifestSchema = z.object({
  version: z.literal(1),
  pipeline: z.string(),
  generation: z.string(),
  format: formatNameSchema,
  shape: shapeSchema,
  compacted: compactedSchema.optional(),
  /** Shards are gzip files; offsets of members are those of the plain bytes. */
  compression: z.literal('gzip').optional(),
  seed: z.number().int(),
  plan: z.string(),
  /** The shards lie in a folder of this name, as layout.shards() has it. */
  revision: z.string().optional(),
  listedAt: z.string(),
  samples: z.number().int(),
  members: z.number().int(),
  /** Copies of samples, which even out counts or classes; counted in `samples`. */
  repeated: z.number().int().default(0),
  bytes: z.number().int(),
  shards: z.array(sealedShardSchema),
  arrivals: z.object({
    objects: z.number().int(),
    packed: z.number().int(),
    rejected: z.number().int(),
    left: z.number().int(),
    /** Sorted lists of everything this generation has dealt with: packed or rejected. */
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
  annotations: annotationsSchema.optional(),
  even: evenSchema.optional(),
  /** The number of workers by which the number of shards was to divide. */
  workers: z.number().int().optional(),
  balance: balanceSchema.optional(),
  prepared: preparedSchema.optional(),
  /** The shards were given up. */
  pruned: z.literal(true).optional(),
  rejections: z.object({
    byReason: z.record(z.string(), z.number().int()),
    examples: z.array(z.object({ key: z.string(), reason: z.string() })),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;

/**
 * A line of a generation's arrivals: key, ETag, bytes, the shard's number or the rejection, and, in a compacted
 * generation, under which file of annotations a label was missing where that is not the manifest's.
 */
export const sealedLine = z.tuple([
  z.string(),
  z.string(),
  z.number(),
  z.union([z.number(), rejectionSchema]),
  z.string().optional(),
]);
export type SealedLine = z.infer<typeof sealedLine>;
