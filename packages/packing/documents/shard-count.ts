/** The number of shards: by their size, by the declaration, and enough for their likely readers. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';

/** In a table of shards by sample: the sample is in no shard. */
export const NO_SHARD = 0xffff_ffff;

/** The readers of the shards, as far as the declaration tells before placement. */
export interface LikelyReaders {
  /** Reading processes of the largest possible topology. */
  readonly processes: number;
  /** A number of shards divides among the processes of every possible topology if it is a multiple of this. */
  readonly multipleOf: number;
}

export interface ShardCountRules {
  /** The number of shards is a multiple of this, unless there are too few samples. */
  readonly multipleOf: number;
  /** Least shards for each of the `multipleOf` workers, however small they get. */
  readonly leastPerWorker?: number | undefined;
  /** A wish: it makes no shard too small. */
  readonly likely?: { readonly shards: number; readonly multipleOf: number } | undefined;
}

/**
 * One for each of the four loader workers that frameworks recommend for a GPU. A process that reads alone reads four
 * shards in turn, and their unequal sizes even out.
 */
const SHARDS_PER_PROCESS = 4;

/**
 * Likely readers make no shard smaller than this, which is also the smallest size that can be declared. A reader
 * without a shard stands idle, so small shards are better than few. But S3 takes tens of milliseconds to begin an
 * answer, and a megabyte arrives in that time.
 */
const SMALLEST_LIKELY_BYTES = 1e6;

export function shardCountRules(
  { shardsMultipleOf: declared, leastShardsPerWorker: least }: PackingSettings,
  readers: LikelyReaders | undefined,
): ShardCountRules {
  if (least !== undefined) return { multipleOf: declared ?? readers?.multipleOf ?? 1, leastPerWorker: least };
  return {
    multipleOf: declared ?? 1,
    ...(readers && {
      likely: {
        shards: readers.processes * SHARDS_PER_PROCESS,
        multipleOf: declared ?? readers.multipleOf,
      },
    }),
  };
}

export interface ShardCountInput {
  readonly bytes: number;
  /** Shards that the size needs. */
  readonly bySize: number;
  /** Pieces that cannot be split. Likely readers never get more shards than these. */
  readonly pieces: number;
}

const upTo = (count: number, step: number): number => Math.ceil(count / step) * step;

export function numberOfShards(
  { bytes, bySize, pieces }: ShardCountInput,
  division: ShardCountRules,
): number {
  const { multipleOf, leastPerWorker = 1, likely } = division;
  const firm = Math.max(upTo(bySize, multipleOf), leastPerWorker * multipleOf);
  if (likely === undefined) return firm;
  const most = Math.max(firm, Math.min(pieces, Math.floor(bytes / SMALLEST_LIKELY_BYTES)));
  const wanted = Math.min(most, Math.max(firm, likely.shards));
  const up = upTo(wanted, likely.multipleOf);
  if (up <= most) return up;
  const down = up - likely.multipleOf;
  return down >= firm ? down : wanted;
}

/** The number of workers among which the shards of each split divide evenly; empty if it is 1. */
export function workersOf(
  shards: readonly number[],
  { shardsMultipleOf: declared }: PackingSettings,
  { likely }: ShardCountRules,
): { readonly workers?: number } {
  const workers =
    declared ??
    (likely !== undefined && shards.every((count) => count % likely.multipleOf === 0)
      ? likely.multipleOf
      : 1);
  return workers > 1 ? { workers } : {};
}
