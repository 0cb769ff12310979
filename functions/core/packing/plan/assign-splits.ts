/** Assigns the samples of each split to shards of its own, as if it were all there is. */
import type { SplitName } from '../../pipeline/splits.ts';
import type { PlannedSplit } from '../model/documents.ts';
import { NO_SHARD } from '../model/shard-count.ts';
import {
  type AssignmentLimits,
  assignSamples,
  type SampleSizes,
  type ShardAssignment,
} from './assign-samples.ts';

export interface SplitSamples {
  /** The splits in the order of their shards. */
  readonly parts: readonly SplitName[];
  readonly splitOf: (ordinal: number) => SplitName | undefined;
}

/** Splits without samples have no shards. */
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
