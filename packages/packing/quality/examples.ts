/** Examples for a report, found by a second look at the lists: keys of duplicates, and rejected arrivals by reason. */
import { contentEtag } from '../arrivals/bundle-place.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { memberLines, sealedLines } from '../documents/sealed-lines.ts';
import { digitsOf } from './digest-list.ts';
import type { DuplicateGroup, RejectedExample, RejectedExamples } from './report-document.ts';
import { SampleScan } from './tally.ts';

const MOST_GROUPS = 20;
const MOST_KEYS = 5;
const MOST_LABELS = 5;
/** Keys of one group that are compared with those of other generations. */
const MOST_OWN = 1_000;
/** Rejected arrivals of each reason. */
const MOST_REJECTED = 10;

export interface FoundKeys {
  readonly groups: readonly DuplicateGroup[];
  /** Groups whose samples have different labels. */
  readonly conflicting: number;
  /** Samples in these groups. */
  readonly conflictingSamples: number;
  /** Samples whose bytes other generations hold only as what they correct. */
  readonly corrections: number;
  /** One key of each of the other digests. */
  readonly keys: ReadonlyMap<bigint, string>;
}

/** Samples of the same bytes. */
class Group {
  /** In the generation. */
  samples = 0;
  readonly keys: string[] = [];
  readonly labels = new Set<string>();
  #isElsewhere = false;
  /** Another generation holds a sample that this one does not correct. */
  #isRepeated = false;
  /** Of the generation; undefined if there are too many. */
  #own: Set<string> | undefined = new Set();

  add(key: string, label: string | undefined): void {
    this.samples += 1;
    this.#own?.add(key);
    if (this.samples > MOST_OWN) this.#own = undefined;
    this.#note(key, label);
  }

  /** A sample of another generation, unless this one holds its correction. */
  addOther(key: string, label: string | undefined): void {
    const isOther = this.#own?.has(key) === false;
    this.#isElsewhere = true;
    this.#isRepeated ||= isOther || this.#own === undefined;
    if (isOther && label !== undefined && !this.labels.has(label)) this.#note(key, label);
  }

  #note(key: string, label: string | undefined): void {
    if (this.keys.length < MOST_KEYS) this.keys.push(key);
    if (label !== undefined && this.labels.size < MOST_LABELS) this.labels.add(label);
  }

  get corrections(): number {
    return this.#isElsewhere && !this.#isRepeated ? this.samples : 0;
  }

  get isConflict(): boolean {
    return this.labels.size > 1;
  }
}

interface Wanted {
  /** Half digests that several samples have. */
  readonly repeated: ReadonlySet<bigint>;
  /** Other generations that hold some of them. */
  readonly elsewhere: readonly Manifest[];
  /** Half digests of which one key is wanted. */
  readonly others: ReadonlySet<bigint>;
}

export async function findKeys(
  store: BlobStore,
  manifest: Manifest,
  { repeated, elsewhere, others }: Wanted,
): Promise<FoundKeys> {
  const groups = new Map<bigint, Group>();
  const keys = new Map<bigint, string>();
  const scan = new SampleScan(({ half, key }, label) => {
    if (others.has(half) && !keys.has(half)) keys.set(half, key);
    if (!repeated.has(half)) return;
    const group = groups.get(half) ?? new Group();
    groups.set(half, group);
    group.add(key, label);
  });
  if (repeated.size + others.size > 0) await scanAll(store, manifest, scan);
  const removed = elsewhere.length === 0 ? new Set() : await removedKeys(store, manifest);
  const otherScan = new SampleScan(({ half, key }, label) => {
    if (!removed.has(key)) groups.get(half)?.addOther(key, label);
  });
  for (const one of elsewhere) await scanAll(store, one, otherScan);
  const conflicts = [...groups.values()].filter(({ isConflict }) => isConflict);
  const shown = [...groups]
    .filter(([, { samples, isConflict }]) => samples > 1 || isConflict)
    .sort(
      ([a, one], [b, other]) =>
        Number(other.isConflict) - Number(one.isConflict) || other.samples - one.samples || (a < b ? -1 : 1),
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
    corrections: [...groups.values()].reduce((sum, { corrections }) => sum + corrections, 0),
    keys,
  };
}

async function scanAll(store: BlobStore, manifest: Manifest, scan: SampleScan): Promise<void> {
  const packing = packingKeys(manifest.pipeline, manifest.generation);
  for (const shard of manifest.shards) {
    for (const line of await memberLines(store, packing, shard)) scan.add(line);
    scan.end();
  }
}

/** Of samples that leave the dataset with this generation. */
async function removedKeys(store: BlobStore, manifest: Manifest): Promise<ReadonlySet<string>> {
  const removed = new Set<string>();
  if (manifest.rejections.byReason['removed'] === undefined) return removed;
  for await (const [key, , , outcome] of sealedLines(store, manifest))
    if (outcome === 'removed') removed.add(key);
  return removed;
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
