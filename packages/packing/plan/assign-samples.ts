/**
 * Assigns samples to shards: it shuffles all of them by the seed, fills shards with equal counts, and groups shards
 * into items. Each split has shards of its own.
 */

import type { SplitName } from '@tidewheel/declaration/packing-settings.ts';
import { GrowingNumbers } from '@tidewheel/kit/growing-numbers.ts';
import { shuffledPositions } from '@tidewheel/kit/seeded-random.ts';
import { bundlePlace, cellOf } from '../arrivals/bundle-place.ts';
import type { PlannedSplit } from '../documents/documents.ts';
import { MOST_PREPARED_OBJECTS, MOST_PREPARED_SOURCE_BYTES } from '../documents/image-preparation.ts';
import { NO_SHARD, numberOfShards, type ShardCountRules } from '../documents/shard-count.ts';

export interface SampleSizes {
  readonly count: number;
  /** Bytes of the sample in a shard. */
  bytesOf(ordinal: number): number;
  /** Objects that form the sample. */
  objectsOf(ordinal: number): number;
  /** Only if images are prepared: bytes to be read and decoded for the sample, which bound a shard too. */
  sourceBytesOf?(ordinal: number): number;
  /** False for a sample that is rejected before. */
  isPlanned?(ordinal: number): boolean;
  /** Only if some lie in bundles. */
  readonly neighbours?: Neighbours | undefined;
}

/** Samples that one request reads stay beside each other, wherever the shuffle puts them. */
export interface Neighbours {
  /** The same number for neighbours; 0 for a sample that has none. */
  readonly groupOf: (ordinal: number) => number;
  /** Order of neighbours. */
  readonly offsetOf: (ordinal: number) => number;
}

/** Which samples lie beside each other in a bundle. */
export class BundledSamples {
  readonly #groups = new GrowingNumbers();
  readonly #offsets = new GrowingNumbers();
  /** By bundle and cell; numbers from 1 on. */
  readonly #numbers = new Map<string, number>();

  /** @param etag of the sample's first member: the others lie behind it */
  add(ordinal: number, etag: string): void {
    const place = bundlePlace(etag);
    if (place === undefined) return;
    const cell = `${place.bundle}:${cellOf(place)}`;
    const group = this.#numbers.get(cell) ?? this.#numbers.size + 1;
    this.#numbers.set(cell, group);
    this.#groups.set(ordinal, group);
    this.#offsets.set(ordinal, place.offset);
  }

  /**
   * Undefined if no sample lies in a bundle.
   * @param samples how many there are. Copies that balance the classes have the numbers above, and no neighbours.
   */
  neighboursOf(samples: number): Neighbours | undefined {
    if (this.#numbers.size === 0) return undefined;
    return {
      groupOf: (ordinal) => (ordinal < samples ? this.#groups.at(ordinal) : 0),
      offsetOf: (ordinal) => this.#offsets.at(ordinal),
    };
  }
}

export interface ShardAssignment {
  readonly shards: number;
  /** Shard of each sample; NO_SHARD for one that is rejected or deferred to a later generation. */
  readonly shardOf: Uint32Array;
  /** Place of each sample in its shard. */
  readonly slotOf: Uint32Array;
  /** Samples that are copied once to even out the counts: ordinal, and slot of the copy in the same shard. */
  readonly repeats: ReadonlyMap<number, number>;
  /** Only if counts are made even: each of the first `shards` shards holds `samples` samples, copies included. */
  readonly even?: { readonly shards: number; readonly samples: number } | undefined;
  /** Samples deferred to a later generation, so that counts are equal. */
  readonly dropped: readonly number[];
  /** First shard of each item and, last, the number of shards. */
  readonly itemShards: readonly number[];
  /** Only if the samples are split. */
  readonly splits?: readonly PlannedSplit[] | undefined;
}

export interface AssignmentLimits extends ShardCountRules {
  readonly shardBytes: number;
  readonly seed: string;
  readonly shuffle: boolean;
  readonly remainder: 'ragged' | 'even' | 'drop';
}

/** Most objects in a shard, however small they are: an item must end well within a Lambda's 15 minutes. */
const MOST_OBJECTS_IN_SHARD = 200_000;
const ITEM_BYTES = 256e6;
const ITEM_OBJECTS = 50_000;

interface Sorted {
  readonly common: readonly number[];
  readonly large: readonly number[];
  readonly wantedShards: number;
}

function inOrder(samples: SampleSizes, limits: AssignmentLimits): Uint32Array {
  const order = new Uint32Array(samples.count);
  const positions = limits.shuffle ? shuffledPositions(samples.count, limits.seed) : undefined;
  if (positions !== undefined && samples.neighbours !== undefined)
    return byNeighbours(positions, samples.neighbours);
  for (let ordinal = 0; ordinal < samples.count; ordinal += 1)
    order[positions?.[ordinal] ?? ordinal] = ordinal;
  return order;
}

/** Neighbours follow the first of them, which lies where the shuffle has put it. Others lie where they were put. */
function byNeighbours(positions: Uint32Array, { groupOf, offsetOf }: Neighbours): Uint32Array {
  const placeOfGroup = new Map<number, number>();
  const places = Uint32Array.from(positions, (position, ordinal) => {
    const group = groupOf(ordinal);
    if (group === 0) return position;
    const place = placeOfGroup.get(group) ?? position;
    placeOfGroup.set(group, place);
    return place;
  });
  return Uint32Array.from(positions, (_, ordinal) => ordinal).sort(
    (a, b) => (places[a] ?? 0) - (places[b] ?? 0) || offsetOf(a) - offsetOf(b) || a - b,
  );
}

/** Separates samples that are as large as a shard. */
function sortOut(samples: SampleSizes, limits: AssignmentLimits): Sorted {
  const common: number[] = [];
  const large: number[] = [];
  let bytes = 0;
  let objects = 0;
  let sourceBytes = 0;
  for (const ordinal of inOrder(samples, limits)) {
    if (samples.isPlanned?.(ordinal) === false) continue;
    const size = samples.bytesOf(ordinal);
    if (size >= limits.shardBytes) {
      large.push(ordinal);
      continue;
    }
    common.push(ordinal);
    bytes += size;
    objects += samples.objectsOf(ordinal);
    sourceBytes += samples.sourceBytesOf?.(ordinal) ?? 0;
  }
  const mostObjects = samples.sourceBytesOf === undefined ? MOST_OBJECTS_IN_SHARD : MOST_PREPARED_OBJECTS;
  const bySize = Math.max(
    Math.ceil(bytes / limits.shardBytes),
    Math.ceil(objects / mostObjects),
    Math.ceil(sourceBytes / MOST_PREPARED_SOURCE_BYTES),
  );
  const pieces = common.length;
  return {
    common,
    large,
    wantedShards: pieces === 0 ? 0 : numberOfShards({ bytes, bySize, pieces }, limits),
  };
}

/** A sample as large as a shard gets its own shard, after the others. */
export function assignSamples(samples: SampleSizes, limits: AssignmentLimits): ShardAssignment {
  const { common, large, wantedShards } = sortOut(samples, limits);
  const commonShards = Math.min(common.length, wantedShards);
  const shards = commonShards + large.length;
  const shardOf = new Uint32Array(samples.count).fill(NO_SHARD);
  const slotOf = new Uint32Array(samples.count);
  const filled = new Uint32Array(shards);
  const put = (ordinal: number, shard: number): void => {
    shardOf[ordinal] = shard;
    slotOf[ordinal] = filled[shard] ?? 0;
    filled[shard] = (filled[shard] ?? 0) + 1;
  };
  const surplus = limits.remainder === 'drop' && commonShards > 0 ? common.length % commonShards : 0;
  const kept = common.slice(0, common.length - surplus);
  for (const [index, ordinal] of kept.entries())
    put(ordinal, Math.floor((index * commonShards) / kept.length));
  for (const [index, ordinal] of large.entries()) put(ordinal, commonShards + index);
  const even = limits.remainder === 'even' ? { kept, shardOf, slotOf, filled, commonShards } : undefined;
  return {
    shards,
    shardOf,
    slotOf,
    repeats: even === undefined ? new Map() : repeatsOf(even),
    ...(even && { even: { shards: commonShards, samples: mostOf(even) } }),
    dropped: common.slice(kept.length).sort((a, b) => a - b),
    itemShards: groupShards(samples, shardOf, shards),
  };
}

interface Uneven {
  readonly kept: readonly number[];
  readonly shardOf: Uint32Array;
  readonly slotOf: Uint32Array;
  readonly filled: Uint32Array;
  readonly commonShards: number;
}

const mostOf = ({ kept, commonShards }: Pick<Uneven, 'kept' | 'commonShards'>): number =>
  Math.ceil(kept.length / Math.max(1, commonShards));

/** Counts differ by one at most: a copy of its first sample fills each shorter shard. */
function repeatsOf({ kept, shardOf, slotOf, filled, commonShards }: Uneven): Map<number, number> {
  const repeats = new Map<number, number>();
  const most = mostOf({ kept, commonShards });
  for (const ordinal of kept) {
    const count = filled[shardOf[ordinal] ?? 0] ?? 0;
    if (slotOf[ordinal] === 0 && count < most) repeats.set(ordinal, count);
  }
  return repeats;
}

interface Loads {
  readonly bytes: Float64Array;
  readonly objects: Float64Array;
}

function loadsOf(samples: SampleSizes, shardOf: Uint32Array, shards: number): Loads {
  const bytes = new Float64Array(shards);
  const objects = new Float64Array(shards);
  for (let ordinal = 0; ordinal < samples.count; ordinal += 1) {
    const shard = shardOf[ordinal] ?? NO_SHARD;
    if (shard === NO_SHARD) continue;
    bytes[shard] = (bytes[shard] ?? 0) + (samples.sourceBytesOf?.(ordinal) ?? samples.bytesOf(ordinal));
    objects[shard] = (objects[shard] ?? 0) + samples.objectsOf(ordinal);
  }
  return { bytes, objects };
}

/** Groups neighbouring shards until an item is worth the start of a Lambda. */
function groupShards(samples: SampleSizes, shardOf: Uint32Array, shards: number): number[] {
  const loads = loadsOf(samples, shardOf, shards);
  const starts: number[] = [];
  let itemBytes = Number.POSITIVE_INFINITY;
  let itemObjects = 0;
  for (const [shard, bytes] of loads.bytes.entries()) {
    const objects = loads.objects[shard] ?? 0;
    itemBytes += bytes;
    itemObjects += objects;
    if (itemBytes <= ITEM_BYTES && itemObjects <= ITEM_OBJECTS) continue;
    starts.push(shard);
    itemBytes = bytes;
    itemObjects = objects;
  }
  return [...starts, shards];
}

export interface SplitSamples {
  /** The splits in the order of their shards. */
  readonly parts: readonly SplitName[];
  readonly splitOf: (ordinal: number) => SplitName | undefined;
}

/** Assigns the samples of each split as if they were all there is. Splits without samples have no shards. */
export function assignSplits(
  samples: SampleSizes,
  limits: AssignmentLimits,
  { parts, splitOf }: SplitSamples,
): ShardAssignment {
  const shardOf = new Uint32Array(samples.count).fill(NO_SHARD);
  const slotOf = new Uint32Array(samples.count);
  const repeats = new Map<number, number>();
  const dropped: number[] = [];
  const itemShards: number[] = [];
  const splits: PlannedSplit[] = [];
  let first = 0;
  for (const name of parts) {
    const isPlanned = (ordinal: number): boolean =>
      splitOf(ordinal) === name && samples.isPlanned?.(ordinal) !== false;
    const assigned = assignSamples({ ...samples, isPlanned }, limits);
    for (const [ordinal, shard] of assigned.shardOf.entries()) {
      if (shard === NO_SHARD) continue;
      shardOf[ordinal] = first + shard;
      slotOf[ordinal] = assigned.slotOf[ordinal] ?? 0;
    }
    for (const [ordinal, slot] of assigned.repeats) repeats.set(ordinal, slot);
    for (const ordinal of assigned.dropped) dropped.push(ordinal);
    for (const shard of assigned.itemShards.slice(0, -1)) itemShards.push(first + shard);
    splits.push({ name, first, ...(assigned.even && { even: { ...assigned.even } }) });
    first += assigned.shards;
  }
  return {
    shards: first,
    shardOf,
    slotOf,
    repeats,
    dropped: dropped.sort((a, b) => a - b),
    itemShards: [...itemShards, first],
    splits,
  };
}

/** The number of shards of each split, or of all. */
export const shardCounts = ({
  shards,
  splits = [{ first: 0 }],
}: Pick<ShardAssignment, 'shards'> & {
  readonly splits?: readonly { readonly first: number }[] | undefined;
}): number[] => splits.map(({ first }, index) => (splits[index + 1]?.first ?? shards) - first);
