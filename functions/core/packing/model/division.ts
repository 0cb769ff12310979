/** How many shards there are to be: by their size, by what is declared, and enough for those that are likely to read them. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';

/** In a table of shards by sample: in no shard. */
export const NOWHERE = 0xffff_ffff;

/** Who reads the shards, as far as a declaration tells before anything is placed. */
export interface LikelyReaders {
  /** Processes that read, of the largest topology that may come. */
  readonly processes: number;
  /** Numbers of shards that divide among the processes of every topology are multiples of this. */
  readonly multipleOf: number;
}

export interface Division {
  /** Always kept, unless there are too few samples. */
  readonly multipleOf: number;
  /** Shards for each of the `multipleOf` workers, however small they get. */
  readonly leastPerWorker?: number | undefined;
  /** Kept as far as shards do not get too small for it. */
  readonly likely?: { readonly shards: number; readonly multipleOf: number } | undefined;
}

/**
 * Four for each process: one for each of the loader workers that frameworks recommend for a GPU, or four turns of a
 * process that reads alone, over which unequal shards even out.
 */
const SHARDS_PER_PROCESS = 4;

/**
 * What nobody asked for makes no smaller shards, which is also the least that may be asked for. A reader without a
 * shard stands idle, so small shards are better than few; but S3 needs tens of milliseconds to answer at all, in which
 * a megabyte would have come.
 */
const SMALLEST_LIKELY_BYTES = 1e6;

export function divisionOf(
  { shardsMultipleOf: declared, leastShardsPerWorker: least }: PackingSettings,
  readers: LikelyReaders | undefined,
): Division {
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

export interface ToDivide {
  readonly bytes: number;
  /** Shards that its size needs. */
  readonly bySize: number;
  /** What cannot be split: there are never more shards for likely readers. */
  readonly pieces: number;
}

const upTo = (count: number, step: number): number => Math.ceil(count / step) * step;

export function numberOfShards({ bytes, bySize, pieces }: ToDivide, division: Division): number {
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

/** By how many workers the shards divide, to be told beside them; 1 is not worth telling. */
export function workersOf(
  shards: number,
  { shardsMultipleOf: declared }: PackingSettings,
  { likely }: Division,
): { readonly workers?: number } {
  const workers =
    declared ?? (likely !== undefined && shards % likely.multipleOf === 0 ? likely.multipleOf : 1);
  return workers > 1 ? { workers } : {};
}
