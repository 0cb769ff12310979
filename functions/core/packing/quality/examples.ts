/** Examples for a report, found by a second look at the lists: keys of duplicates, and rejected arrivals by reason. */
import { contentEtag } from '../arrivals/bundle-place.ts';
import type { BlobStore } from '../model/blob-store.ts';
import type { Manifest } from '../model/manifest.ts';
import { memberLines } from '../model/member-lines.ts';
import { packingKeys } from '../model/packing-keys.ts';
import { sealedLines } from '../model/sealed-lines.ts';
import { digitsOf } from './digest-list.ts';
import type { DuplicateGroup, RejectedExample, RejectedExamples } from './report-document.ts';
import { SampleScan } from './tally.ts';

const MOST_GROUPS = 20;
const MOST_KEYS = 5;
const MOST_LABELS = 5;
/** Rejected arrivals of each reason. */
const MOST_REJECTED = 10;

export interface FoundKeys {
  readonly groups: readonly DuplicateGroup[];
  /** Groups whose samples have different labels. */
  readonly conflicting: number;
  /** Samples in these groups. */
  readonly conflictingSamples: number;
  /** One key of each of the other digests. */
  readonly keys: ReadonlyMap<bigint, string>;
}

interface Group {
  samples: number;
  readonly keys: string[];
  readonly labels: Set<string>;
}

/**
 * @param repeated half digests that several samples have
 * @param others half digests of which one key is wanted
 */
export async function findKeys(
  store: BlobStore,
  manifest: Manifest,
  { repeated, others }: { readonly repeated: ReadonlySet<bigint>; readonly others: ReadonlySet<bigint> },
): Promise<FoundKeys> {
  const groups = new Map<bigint, Group>();
  const keys = new Map<bigint, string>();
  const scan = new SampleScan(({ half, key }, label) => {
    if (others.has(half) && !keys.has(half)) keys.set(half, key);
    if (!repeated.has(half)) return;
    const group = groups.get(half) ?? { samples: 0, keys: [], labels: new Set() };
    group.samples += 1;
    if (group.keys.length < MOST_KEYS) group.keys.push(key);
    if (label !== undefined && group.labels.size < MOST_LABELS) group.labels.add(label);
    groups.set(half, group);
  });
  if (repeated.size + others.size > 0)
    for (const shard of manifest.shards) {
      const packing = packingKeys(manifest.pipeline, manifest.generation);
      for (const line of await memberLines(store, packing, shard)) scan.add(line);
      scan.end();
    }
  const isConflict = ({ labels }: Group): boolean => labels.size > 1;
  const conflicts = [...groups.values()].filter(isConflict);
  const shown = [...groups].sort(
    ([a, one], [b, other]) =>
      Number(isConflict(other)) - Number(isConflict(one)) || other.samples - one.samples || (a < b ? -1 : 1),
  );
  return {
    groups: shown.slice(0, MOST_GROUPS).map(([half, group]) => ({
      digest: digitsOf(half),
      samples: group.samples,
      keys: group.keys.toSorted(),
      labels: [...group.labels].sort(),
    })),
    conflicting: conflicts.length,
    conflictingSamples: conflicts.reduce((sum, { samples }) => sum + samples, 0),
    keys,
  };
}

/** Reads the lists of arrivals until each reason has its examples. */
export async function rejectedExamples(store: BlobStore, manifest: Manifest): Promise<RejectedExamples> {
  const wanted = new Map(
    Object.entries(manifest.rejections.byReason).map(([reason, count]) => [
      reason,
      Math.min(count, MOST_REJECTED),
    ]),
  );
  const found: Record<string, RejectedExample[]> = {};
  let missing = [...wanted.values()].reduce((sum, count) => sum + count, 0);
  if (missing === 0) return found;
  for await (const [key, etag, size, reason] of sealedLines(store, manifest)) {
    if (typeof reason === 'number') continue;
    const examples = found[reason] ?? [];
    if (examples.length >= (wanted.get(reason) ?? 0)) continue;
    examples.push({ key, size, ...(contentEtag(etag) !== etag && { etag }) });
    found[reason] = examples;
    missing -= 1;
    if (missing === 0) break;
  }
  return found;
}
