/** Assigns whole old shards to new shards. A shard is never split, and its samples are never decoded. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { Manifest } from '../documents/manifest.ts';
import { numberOfShards, type ShardCountRules } from '../documents/shard-count.ts';
import { type AssignedShards, assignEachSplit, type OldShard } from './assign-splits.ts';

interface Sized {
  readonly at: OldShard;
  readonly bytes: number;
  /** By which shards are spread; by default the bytes. */
  readonly weight?: number;
}

/** A new shard may be this many times as large as declared. If it were larger, one generation is left out instead. */
const MOST_OVERSIZE = 2;

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));
const inOrder = ([a, b]: OldShard, [c, d]: OldShard): number => a - c || b - d;

/** How many samples of an old shard stay. */
export type Survivors = (input: number, shard: number) => number;

function sizedOf(inputs: readonly Manifest[]): Sized[] {
  return inputs.flatMap(({ shards }, input) =>
    shards.map(({ bytes }, shard): Sized => ({ at: [input, shard], bytes })),
  );
}

/**
 * Assigns what is left of shards. Old shards of which nothing is left are assigned nowhere. Where counts have to be
 * equal, copies make up the difference, so the old shards are spread by their samples.
 */
export const assignSurvivors = (
  inputs: readonly Manifest[],
  rules: { readonly packing: PackingSettings; readonly countRules: ShardCountRules },
  survivors: Survivors,
): AssignedShards =>
  assignEachSplit(inputs, rules.packing.split, (some, placeOf) =>
    assignRest(some, rules, (input, shard) => survivors(input, placeOf(input, shard))),
  ) ?? { shards: [] };

function assignRest(
  inputs: readonly Manifest[],
  { packing, countRules }: { readonly packing: PackingSettings; readonly countRules: ShardCountRules },
  survivors: Survivors,
): AssignedShards {
  const isEqual = packing.remainder !== 'ragged';
  const left = (input: number, shard: number): number => Math.max(0, survivors(input, shard));
  const all = inputs.flatMap(({ shards }, input) =>
    shards.flatMap(({ bytes, samples }, shard): (Sized & { weight: number })[] => {
      const count = left(input, shard);
      const size = (bytes * count) / samples;
      return count === 0 ? [] : [{ at: [input, shard], bytes: size, weight: isEqual ? count : size }];
    }),
  );
  const { shards } = assignBySize(all, packing, countRules);
  if (!isEqual) return { shards };
  const counts = shards.map((some) => some.reduce((sum, [input, shard]) => sum + left(input, shard), 0));
  return { shards, even: { shards: shards.length, samples: Math.max(0, ...counts) } };
}

/** @returns undefined if no number of shards fits all of these inputs */
export const assignShards = (
  inputs: readonly Manifest[],
  packing: PackingSettings,
  countRules: ShardCountRules,
): AssignedShards | undefined =>
  assignEachSplit(inputs, packing.split, (some) =>
    packing.remainder === 'ragged'
      ? assignBySize(sizedOf(some), packing, countRules)
      : assignEqually(some, packing, countRules),
  );

/** Each new shard gets the same number of shards of each input, so that counts stay equal. */
function assignEqually(
  inputs: readonly Manifest[],
  { shardMegabytes, remainder }: PackingSettings,
  countRules: ShardCountRules,
): AssignedShards | undefined {
  const { likely } = countRules;
  const divides = inputs.every(({ shards }) => shards.length % (likely?.multipleOf ?? 1) === 0);
  const workers = likely !== undefined && divides ? likely.multipleOf : countRules.multipleOf;
  const bytes = inputs.reduce((sum, one) => sum + one.bytes, 0);
  const common = inputs.reduce((divisor, { shards }) => greatestDivisor(divisor, shards.length / workers), 0);
  const bySize = Math.ceil(bytes / (shardMegabytes * 1e6));
  const pieces = Number.POSITIVE_INFINITY;
  const wanted = Math.ceil(numberOfShards({ bytes, bySize, pieces }, countRules) / workers);
  let perWorker = common;
  for (let divisor = 1; divisor <= common; divisor += 1)
    if (common % divisor === 0 && divisor >= wanted) {
      perWorker = divisor;
      break;
    }
  const count = perWorker * workers;
  if (bytes / count > shardMegabytes * 1e6 * MOST_OVERSIZE) return undefined;
  // An input with many shards, joined with one of few, would leave its readers too few.
  const most = Math.max(...inputs.map((one) => one.shards.length));
  if (likely !== undefined && count < Math.min(wanted * workers, most)) return undefined;
  const shards: OldShard[][] = Array.from({ length: count }, () => []);
  for (const { at } of sizedOf(inputs)) shards[at[1] % count]?.push(at);
  const samples = inputs.reduce((sum, one) => sum + one.samples, 0) / count;
  return { shards, ...(remainder === 'even' && { even: { shards: count, samples } }) };
}

/** Each shard, largest first, goes to the emptiest new shard. Without a shuffle the order is kept instead. */
function assignBySize(
  all: readonly Sized[],
  { shardMegabytes, shuffle }: PackingSettings,
  countRules: ShardCountRules,
): AssignedShards {
  const { multipleOf: workers } = countRules;
  const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
  const bySize = Math.ceil(bytes / (shardMegabytes * 1e6));
  const wanted = numberOfShards({ bytes, bySize, pieces: all.length }, countRules);
  const most = all.length < workers ? all.length : all.length - (all.length % workers);
  const shards: OldShard[][] = Array.from({ length: Math.min(wanted, most) }, () => []);
  if (!shuffle) {
    let before = 0;
    for (const one of all) {
      shards[Math.min(shards.length - 1, Math.floor((before * shards.length) / Math.max(1, bytes)))]?.push(
        one.at,
      );
      before += one.bytes;
    }
    return { shards: shards.filter(({ length }) => length > 0) };
  }
  const filled = new Float64Array(shards.length);
  const weightOf = ({ weight, bytes: size }: Sized): number => weight ?? size;
  for (const one of all.toSorted((a, b) => weightOf(b) - weightOf(a) || inOrder(a.at, b.at))) {
    const emptiest = filled.indexOf(Math.min(...filled));
    shards[emptiest]?.push(one.at);
    filled[emptiest] = (filled[emptiest] ?? 0) + weightOf(one);
  }
  return { shards: shards.map((some) => some.sort(inOrder)) };
}
