/** Chooses the generations to be joined into one. Pure: the same manifests and settings give the same choice. */

import { isDeepStrictEqual } from 'node:util';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { Manifest } from '../documents/manifest.ts';
import { type LikelyReaders, type ShardCountRules, shardCountRules } from '../documents/shard-count.ts';
import { batchOf } from '../documents/versions.ts';
import { formatOf } from '../formats/formats.ts';
import { type AssignedShards, assignShards, everySplit } from './assign-shards.ts';
import type { BalancedAgain } from './balance-again.ts';
import type { LeftOutSamples } from './superseded-samples.ts';

export interface CompactionRules {
  readonly packing: PackingSettings;
  /** The likely readers of the shards. */
  readonly readers?: LikelyReaders | undefined;
  /** Join when there are this many small generations. */
  readonly after: number;
  /** Join all small generations, however unequal they are. For a compaction by hand. */
  readonly everything?: boolean;
}

export interface CompactionChoice {
  /** Generations with shards, then those that only rejected; each oldest first. */
  readonly inputs: readonly Manifest[];
  readonly assigned: AssignedShards;
  /** For each input, the samples that are not joined. */
  readonly leftOut?: readonly LeftOutSamples[];
  /** Copies that made old shards equal are not joined either. */
  readonly leavesCopies?: true;
  /** Copies that make the classes equal, if they are balanced again. */
  readonly balanced?: BalancedAgain;
  /** The number of retractions that are taken into account. */
  readonly retractions?: number;
}

export const byBatch = (a: Manifest, b: Manifest): number =>
  batchOf(a.generation) - batchOf(b.generation) || (a.generation < b.generation ? -1 : 1);
const bytesOf = (manifests: readonly Manifest[]): number =>
  manifests.reduce((sum, { bytes }) => sum + bytes, 0);

/** The shards of a small generation are less than half as large as declared, on average. */
const isSmall = ({ bytes, shards }: Manifest, { shardMegabytes }: PackingSettings): boolean =>
  shards.length > 0 && bytes / shards.length < (shardMegabytes * 1e6) / 2;

/** Counts stay equal only if each new shard gets the same number of shards of each generation. */
const canBeAssigned = (
  manifest: Manifest,
  { remainder, split }: PackingSettings,
  { multipleOf }: ShardCountRules,
): boolean =>
  remainder === 'ragged' ||
  everySplit(manifest, split, ({ shards, even }) => {
    const counts = new Set(shards.map(({ samples }) => samples));
    const isWhole = remainder !== 'even' || even?.shards === shards.length;
    return counts.size === 1 && isWhole && shards.length % multipleOf === 0;
  });

/** Generations with the same key can be joined. Undefined if the declaration would now give other shards. */
export function joinKey(
  { schema, format, compression, split }: Manifest,
  settings: PackingSettings,
): string | undefined {
  const current = formatOf(settings);
  const isGzipped = current.isGzipped?.(settings) === true;
  if (format !== settings.format || (compression === 'gzip') !== isGzipped) return undefined;
  if (!isDeepStrictEqual(split, settings.split)) return undefined;
  const wanted = current.schema(settings, {
    columns: schema.columns ?? [],
    csvHeader: schema.csvHeader ?? schema.droppedHeader,
  });
  return isDeepStrictEqual(wanted, schema) ? JSON.stringify(schema) : undefined;
}

/** The largest group of small generations that can be joined. */
function largestGroup(
  manifests: readonly Manifest[],
  packing: PackingSettings,
  countRules: ShardCountRules,
): Manifest[] {
  const groups = new Map<string, Manifest[]>();
  for (const manifest of manifests) {
    const key = joinKey(manifest, packing);
    if (key === undefined || !isSmall(manifest, packing) || !canBeAssigned(manifest, packing, countRules))
      continue;
    groups.set(key, [...(groups.get(key) ?? []), manifest]);
  }
  return [...groups.values()].reduce((best, group) => (group.length > best.length ? group : best), []);
}

/**
 * A generation that is larger than all smaller ones together is left out until there are more of them. So a sample's
 * generation at least doubles with each copy, and no sample is copied more than a few times.
 */
function withoutLargest(sorted: readonly Manifest[]): Manifest[] {
  const kept = [...sorted];
  for (let last = kept.at(-1); last !== undefined; last = kept.at(-1)) {
    if (last.bytes <= bytesOf(kept.slice(0, -1))) break;
    kept.pop();
  }
  return kept;
}

/** Fewer generations are never joined. */
export const fewestToJoin = (after: number): number => Math.max(2, after);

/**
 * @param current generations of the newest version
 * @param rejecting generations that only rejected. They are joined too, so that their lists need not be read again
 */
export function chooseInputs(
  current: readonly Manifest[],
  rejecting: readonly Manifest[],
  rules: CompactionRules,
): CompactionChoice | undefined {
  const { packing, after, everything } = rules;
  const countRules = shardCountRules(packing, rules.readers);
  const small = largestGroup(current, packing, countRules);
  if (small.length < fewestToJoin(after)) return undefined;
  const sorted = small.toSorted((a, b) => a.bytes - b.bytes || byBatch(a, b));
  const inputs = everything === true ? sorted : withoutLargest(sorted);
  while (inputs.length >= 2) {
    const assigned = assignShards(inputs.toSorted(byBatch), packing, countRules);
    if (assigned !== undefined) {
      const newest = Math.max(...inputs.map(({ generation }) => batchOf(generation)));
      const joinedToo = rejecting.filter(({ generation }) => batchOf(generation) <= newest);
      return { inputs: [...inputs.toSorted(byBatch), ...joinedToo.toSorted(byBatch)], assigned };
    }
    inputs.pop();
  }
  return undefined;
}
