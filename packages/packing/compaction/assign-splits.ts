/** Joins the shards of each split with each other, as if they were all there is: a sample never changes its split. */
import { partsOf, type SplitName, type SplitSettings } from '@tidewheel/declaration/packing-settings.ts';
import type { EvenCounts, PlannedSplit } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { splitOfShard } from '../splits/split-rule.ts';

/** An old shard: index of the input, index of the shard in it. */
export type OldShard = readonly [input: number, shard: number];

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
export function assignEachSplit(
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
