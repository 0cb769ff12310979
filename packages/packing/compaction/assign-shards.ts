/** Assigns whole old shards to new shards. A shard is never split, and its samples are never decoded. */

import { partsOf, type SplitName, type SplitSettings } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { EvenCounts, PlannedSplit } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { numberOfShards, type ShardCountRules } from '../documents/shard-count.ts';
import { splitOfShard } from '../splits/split-rule.ts';

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

/** An old shard: index of the input, index of the shard in it. */
type OldShard = readonly [input: number, shard: number];

export interface AssignedShards {
  /** The old shards of each new one, in the order of inputs and shards. */
  readonly shards: readonly (readonly OldShard[])[];
  /** Only if the pipeline declares equal counts: the number of shards and of samples in each. */
  readonly even?: EvenCounts;
  /** Only if the samples are split: each has its own even counts. */
  readonly splits?: readonly PlannedSplit[];
}

/** The inputs as one split sees them, with the place of each of its shards among all shards of the input. */
interface View {
  readonly inputs: readonly Manifest[];
  readonly places: readonly (readonly number[])[];
}

function viewOf(inputs: readonly Manifest[], name: SplitName): View {
  const places = inputs.map(({ shards }) =>
    shards.flatMap((shard, place) => (splitOfShard(shard.name) === name ? [place] : [])),
  );
  const views = inputs.map((input, index): Manifest => {
    const shards = (places[index] ?? []).flatMap((place) => input.shards[place] ?? []);
    const sum = (of: 'samples' | 'bytes'): number => shards.reduce((total, one) => total + one[of], 0);
    const even = input.splits?.find((split) => split.name === name)?.even;
    return { ...input, shards, samples: sum('samples'), bytes: sum('bytes'), even };
  });
  return { inputs: views, places };
}

/**
 * @param assign gets the inputs of one split, and where its shards lie in the whole inputs
 * @returns undefined if a split cannot be assigned
 */
function assignEachSplit(
  inputs: readonly Manifest[],
  split: SplitSettings | undefined,
  assign: (
    inputs: readonly Manifest[],
    placeOf: (input: number, shard: number) => number,
  ) => AssignedShards | undefined,
): AssignedShards | undefined {
  if (split === undefined) return assign(inputs, (_, shard) => shard);
  const shards: (readonly OldShard[])[] = [];
  const splits: PlannedSplit[] = [];
  for (const name of partsOf(split)) {
    const view = viewOf(inputs, name);
    const placeOf = (input: number, shard: number): number => view.places[input]?.[shard] ?? shard;
    const first = shards.length;
    const isEmpty = view.inputs.every((input) => input.shards.length === 0);
    const assigned: AssignedShards | undefined = isEmpty ? { shards: [] } : assign(view.inputs, placeOf);
    if (assigned === undefined) return undefined;
    for (const some of assigned.shards)
      shards.push(some.map(([input, shard]): OldShard => [input, placeOf(input, shard)]));
    splits.push({ name, first, ...(assigned.even && { even: { ...assigned.even } }) });
  }
  return { shards, splits };
}

/** Whether a rule over shards that have equal counts holds for each split of a generation. */
export const everySplit = (
  manifest: Manifest,
  split: SplitSettings | undefined,
  holds: (view: Manifest) => boolean,
): boolean =>
  split === undefined
    ? holds(manifest)
    : partsOf(split)
        .flatMap((name) => viewOf([manifest], name).inputs)
        .every((view) => view.shards.length === 0 || holds(view));
