/**
 * Finds the samples that a compaction leaves out, because another generation holds a newer version of them. Keys decide:
 * a key that is packed twice belongs to a sample and to its correction.
 */

import type { OnChange } from '@tidewheel/declaration/pipeline.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys, shardNumberOf } from '../documents/packing-keys.ts';
import { inOrder, memberLines, sealedLines } from '../documents/sealed-lines.ts';

/**
 * Why a compaction does not join a sample. `replaced`: a newer generation holds the whole sample.
 * `correctionIncomplete`: a correction that lacks members of the sample it would replace. `retracted`: a user asked for
 * it. `removed`: the owner deleted an object of it.
 */
export const LEFT_OUT = ['replaced', 'correctionIncomplete', 'retracted', 'removed'] as const;
type LeftOut = (typeof LEFT_OUT)[number];

export interface LeftOutArrival {
  readonly reason: LeftOut;
  /** Of retracted bytes, as of retracted-bytes.ts. */
  readonly sum: string | undefined;
}

/** Of one generation, by the number of the sample. */
export type LeftOutSamples = Pick<ReadonlyMap<number, LeftOut>, 'get' | 'has' | 'size' | 'entries'>;

/** Leaves out every sample but these, without a reason of its own. */
export class AllBut implements LeftOutSamples {
  readonly size = Number.POSITIVE_INFINITY;
  readonly #kept: ReadonlySet<number>;

  constructor(kept: ReadonlySet<number>) {
    this.#kept = kept;
  }

  get(): undefined {
    return undefined;
  }

  has(sample: number): boolean {
    return !this.#kept.has(sample);
  }

  entries(): MapIterator<[number, LeftOut]> {
    return new Map<number, LeftOut>().entries();
  }
}

interface Sample {
  readonly number: number;
  readonly keys: string[];
}

export interface LeavingOut {
  /** `keep`: nothing is replaced. */
  readonly onChange?: OnChange | undefined;
  /** For each generation the keys of which its samples are left out. */
  readonly retracted?: readonly ReadonlySet<string>[] | undefined;
}

/** @param manifests oldest first @returns for each of them the samples to leave out */
export async function supersededSamples(
  store: BlobStore,
  manifests: readonly Manifest[],
  { onChange, retracted = [] }: LeavingOut,
): Promise<readonly LeftOutSamples[]> {
  const isReplacing = onChange !== 'keep';
  const doubled = await keysInQuestion(store, manifests, { isReplacing, retracted });
  const resolution = new Resolution(manifests.length);
  for (const [age, manifest] of manifests.entries()) {
    if (isReplacing) resolution.remove(doubled.removed[age] ?? new Set());
    const shards = doubled.shards[age] ?? new Set();
    const samples = await samplesOf(store, manifest, { keys: doubled.keys, shards });
    // No key is in two samples of a run's generation. A joined one may be of a time when changed objects were kept.
    const steps = manifest.compacted === undefined ? [samples] : samples.map((sample) => [sample]);
    if (isReplacing) for (const step of steps) resolution.add(age, step);
    resolution.retract(
      age,
      samples.filter(({ keys }) => keys.some((key) => retracted[age]?.has(key))),
    );
  }
  return resolution.leftOut;
}

interface Questioned {
  readonly keys: ReadonlySet<string>;
  /** For each generation the numbers of the shards that hold such a key. */
  readonly shards: readonly ReadonlySet<number>[];
  /** For each generation the keys whose objects were deleted before it was packed. */
  readonly removed: readonly ReadonlySet<string>[];
}

/** Keys that are packed more than once, retracted, or packed and deleted since. */
async function keysInQuestion(
  store: BlobStore,
  manifests: readonly Manifest[],
  {
    isReplacing,
    retracted,
  }: { readonly isReplacing: boolean; readonly retracted: readonly ReadonlySet<string>[] },
): Promise<Questioned> {
  const keys = new Set<string>();
  const shards = manifests.map(() => new Set<number>());
  const removed = manifests.map(() => new Set<string>());
  for await (const [key, lines] of linesByKey(store, manifests)) {
    const isRetracted = lines.some(({ age }) => retracted[age]?.has(key));
    const isInQuestion = isRetracted || (isReplacing && lines.length > 1);
    if (!isInQuestion) continue;
    keys.add(key);
    for (const { age, shard } of lines)
      if (shard === undefined) removed[age]?.add(key);
      else shards[age]?.add(shard);
  }
  return { keys, shards, removed };
}

interface PackedLine {
  readonly age: number;
  /** Undefined where the object was deleted. */
  readonly shard: number | undefined;
}

async function* linesByKey(
  store: BlobStore,
  manifests: readonly Manifest[],
): AsyncGenerator<readonly [key: string, lines: readonly PackedLine[]]> {
  let [before, lines]: [string, PackedLine[]] = ['', []];
  for await (const { line, age } of inOrder(manifests.map((one) => sealedLines(store, one)))) {
    const [key, , , outcome] = line;
    const shard = typeof outcome === 'number' ? outcome : undefined;
    // What a joined generation calls removed is in none of its shards, and was not in those before it.
    const isRemoved = outcome === 'removed' && manifests[age]?.compacted === undefined;
    if (shard === undefined && !isRemoved) continue;
    if (key !== before) {
      if (lines.length > 0) yield [before, lines];
      [before, lines] = [key, []];
    }
    lines.push({ age, shard });
  }
  if (lines.length > 0) yield [before, lines];
}

/** The samples with one of these keys, in the order of their numbers. */
async function samplesOf(
  store: BlobStore,
  manifest: Manifest,
  { keys, shards }: { readonly keys: ReadonlySet<string>; readonly shards: ReadonlySet<number> },
): Promise<Sample[]> {
  const folder = packingKeys(manifest.pipeline, manifest.generation);
  const found = new Map<number, Sample>();
  for (const shard of manifest.shards) {
    if (!shards.has(shardNumberOf(shard.name))) continue;
    const lines = (await memberLines(store, folder, shard)).filter(({ repeat }) => repeat === undefined);
    const touched = new Set(
      lines.flatMap(({ key, sample }) => (key !== undefined && keys.has(key) ? [sample] : [])),
    );
    for (const { sample: number, key } of lines) {
      if (key === undefined || !touched.has(number)) continue;
      const sample = found.get(number) ?? { number, keys: [] };
      found.set(number, sample);
      sample.keys.push(key);
    }
  }
  return [...found.values()].sort((a, b) => a.number - b.number);
}

interface Placed {
  readonly age: number;
  readonly sample: Sample;
}

/** Takes samples from the oldest to the newest. It knows which one holds each key so far. */
class Resolution {
  readonly leftOut: readonly Map<number, LeftOut>[];
  readonly #holder = new Map<string, Placed>();

  constructor(generations: number) {
    this.leftOut = Array.from({ length: generations }, () => new Map());
  }

  /** @param samples of one generation, which may replace older ones together */
  add(age: number, samples: readonly Sample[]): void {
    for (const { olds, news } of this.#groups(age, samples)) {
      const verdict = olds.size === 0 ? undefined : verdictOf(olds, news);
      const isNewer = verdict === undefined || verdict === 'replaced';
      if (verdict !== undefined)
        for (const one of isNewer ? olds : news) this.leftOut[one.age]?.set(one.sample.number, verdict);
      if (isNewer) for (const one of news) for (const key of one.sample.keys) this.#holder.set(key, one);
    }
  }

  /** @param keys of objects that were deleted: their samples leave, and newer ones need not have these keys */
  remove(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      const placed = this.#holder.get(key);
      if (placed === undefined) continue;
      const leftOut = this.leftOut[placed.age];
      if (leftOut?.get(placed.sample.number) !== 'retracted') leftOut?.set(placed.sample.number, 'removed');
      for (const other of placed.sample.keys)
        if (this.#holder.get(other) === placed) this.#holder.delete(other);
    }
  }

  /** What comes later of their keys corrects nothing. */
  retract(age: number, samples: readonly Sample[]): void {
    for (const sample of samples) {
      if (this.leftOut[age]?.has(sample.number) === false) this.leftOut[age].set(sample.number, 'retracted');
      for (const key of sample.keys) if (this.#holder.get(key)?.sample === sample) this.#holder.delete(key);
    }
  }

  /** Old and new samples that have keys in common, directly or by others. */
  #groups(age: number, samples: readonly Sample[]): Iterable<Group> {
    const groupOf = new Map<Placed, Group>();
    const groups = new Set<Group>();
    for (const sample of samples) {
      const held = sample.keys.flatMap((key) => this.#holder.get(key) ?? []);
      const group: Group = { olds: new Set(held), news: new Set([{ age, sample }]) };
      for (const old of held) {
        const other = groupOf.get(old);
        if (other === undefined || !groups.delete(other)) continue;
        for (const one of other.olds) group.olds.add(one);
        for (const one of other.news) group.news.add(one);
      }
      for (const old of group.olds) groupOf.set(old, group);
      groups.add(group);
    }
    return groups;
  }
}

interface Group {
  readonly olds: Set<Placed>;
  readonly news: Set<Placed>;
}

/** `replaced` speaks of the old samples, `correctionIncomplete` of the new ones. */
function verdictOf(olds: Iterable<Placed>, news: Iterable<Placed>): LeftOut {
  const keys = new Set([...news].flatMap(({ sample }) => sample.keys));
  const isWhole = [...olds].every(({ sample }) => sample.keys.every((key) => keys.has(key)));
  return isWhole ? 'replaced' : 'correctionIncomplete';
}
