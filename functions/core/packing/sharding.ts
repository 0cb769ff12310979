/** How samples are dealt to shards: a seeded shuffle over everything, then equal counts, then items of a fair size. */
import { shuffledPositions } from './order.ts';

export interface SampleSizes {
  readonly count: number;
  /** Bytes that sample takes in a shard. */
  bytesOf(ordinal: number): number;
  /** Objects that form the sample. */
  objectsOf(ordinal: number): number;
}

export interface Dealing {
  readonly shards: number;
  /** Shard of every sample. */
  readonly shardOf: Uint32Array;
  /** Place of every sample inside its shard. */
  readonly slotOf: Uint32Array;
  /** First shard of each item and, last, the number of shards. */
  readonly itemShards: readonly number[];
}

export interface DealingLimits {
  readonly shardBytes: number;
  readonly seed: string;
}

/** So many objects make a shard however small they are: an item must end well inside a Lambda's 15 minutes. */
export const MOST_OBJECTS_IN_SHARD = 200_000;
const ITEM_BYTES = 256e6;
const ITEM_OBJECTS = 50_000;

/** Samples as large as a shard get shards of their own, after the others. */
export function dealSamples(samples: SampleSizes, limits: DealingLimits): Dealing {
  const positions = shuffledPositions(samples.count, limits.seed);
  const order = new Uint32Array(samples.count);
  for (let ordinal = 0; ordinal < samples.count; ordinal += 1) order[positions[ordinal] ?? 0] = ordinal;
  const common: number[] = [];
  const large: number[] = [];
  let bytes = 0;
  let objects = 0;
  for (const ordinal of order) {
    const size = samples.bytesOf(ordinal);
    if (size >= limits.shardBytes) {
      large.push(ordinal);
      continue;
    }
    common.push(ordinal);
    bytes += size;
    objects += samples.objectsOf(ordinal);
  }
  const wanted = Math.max(Math.ceil(bytes / limits.shardBytes), Math.ceil(objects / MOST_OBJECTS_IN_SHARD));
  const commonShards = Math.min(common.length, wanted);
  const shardOf = new Uint32Array(samples.count);
  const slotOf = new Uint32Array(samples.count);
  const filled = new Uint32Array(commonShards + large.length);
  const put = (ordinal: number, shard: number): void => {
    shardOf[ordinal] = shard;
    slotOf[ordinal] = filled[shard] ?? 0;
    filled[shard] = (filled[shard] ?? 0) + 1;
  };
  for (const [index, ordinal] of common.entries())
    put(ordinal, Math.floor((index * commonShards) / common.length));
  for (const [index, ordinal] of large.entries()) put(ordinal, commonShards + index);
  const shards = commonShards + large.length;
  return { shards, shardOf, slotOf, itemShards: groupShards(samples, shardOf, shards) };
}

/** Neighbouring shards together until an item is worth a Lambda's start. */
function groupShards(samples: SampleSizes, shardOf: Uint32Array, shards: number): number[] {
  const bytes = new Float64Array(shards);
  const objects = new Float64Array(shards);
  for (let ordinal = 0; ordinal < samples.count; ordinal += 1) {
    const shard = shardOf[ordinal] ?? 0;
    bytes[shard] = (bytes[shard] ?? 0) + samples.bytesOf(ordinal);
    objects[shard] = (objects[shard] ?? 0) + samples.objectsOf(ordinal);
  }
  const starts: number[] = [];
  let itemBytes = Number.POSITIVE_INFINITY;
  let itemObjects = 0;
  for (let shard = 0; shard < shards; shard += 1) {
    itemBytes += bytes[shard] ?? 0;
    itemObjects += objects[shard] ?? 0;
    if (itemBytes > ITEM_BYTES || itemObjects > ITEM_OBJECTS) {
      starts.push(shard);
      itemBytes = bytes[shard] ?? 0;
      itemObjects = objects[shard] ?? 0;
    }
  }
  return [...starts, shards];
}
