/**
 * Finds what the dataset holds of samples that come back with other ETags, because a copy or another part size gives the
 * same bytes another ETag. Only the worker that reads them can say whether the bytes are others.
 */
import type { BlobStore } from '../documents/blob-store.ts';
import type { CompressedLines } from '../documents/compressed-lines.ts';
import { isCopied, parseArrival } from '../documents/documents.ts';
import { type HeldMember, type HeldSamples, heldSample, NOTHING_HELD } from '../documents/held-samples.ts';
import type { Manifest } from '../documents/manifest.ts';
import { type PackingKeys, packingKeys, shardNumberOf } from '../documents/packing-keys.ts';
import { memberLines, sealedLines } from '../documents/sealed-lines.ts';
import { blobVersions, newestVersion, waitingGenerations } from '../documents/versions.ts';

/** More are packed again, and the compaction replaces them. They are held in memory. */
const MOST_COMPARED = 200_000;

/** Numbers of the samples of which the dataset knows every key. */
export class ReturningSamples {
  readonly numbers = new Set<number>();

  /** @param isFirst the first object of its sample */
  add(sample: number, { isKnown, isFirst }: { readonly isKnown: boolean; readonly isFirst: boolean }): void {
    if (!isKnown) this.numbers.delete(sample);
    else if (isFirst && this.numbers.size < MOST_COMPARED) this.numbers.add(sample);
  }
}

interface Returned {
  readonly pipeline: string;
  readonly manifests: readonly Manifest[];
  readonly draft: { readonly returning: ReturningSamples; readonly arrivals: CompressedLines };
}

/** Nothing while a generation waits for its compaction: what the dataset will hold is not decided. */
export async function heldOf(store: BlobStore, returned: Returned): Promise<HeldSamples> {
  const { pipeline, draft } = returned;
  if (draft.returning.numbers.size === 0) return NOTHING_HELD;
  const versions = blobVersions(store);
  const newest = await newestVersion(versions, pipeline);
  if (newest === undefined || (await waitingGenerations(versions, pipeline, newest)).length > 0)
    return NOTHING_HELD;
  const keys = keysOf(returned);
  const current = returned.manifests.filter(({ generation }) => newest.generations.includes(generation));
  const members = await membersOf(store, current, new Set([...keys.values()].flatMap((some) => some.keys)));
  const held = new Map<number, ReturnType<typeof heldSample>>();
  for (const [sample, some] of keys) {
    const all = some.keys.flatMap((key) => members.get(key) ?? []);
    if (all.length === some.keys.length && !(some.alone && all.some(({ siblings }) => siblings)))
      held.set(sample, heldSample(all));
  }
  return held;
}

interface ReturnedKeys {
  readonly keys: string[];
  /**
   * The rules of names leave it out of the sample of its stem, such as `a.jpg` beside a new `a.JPG`. If the dataset holds
   * it with siblings, these are packed without it, and both together replace the old sample.
   */
  readonly alone: boolean;
}

/** What the dataset holds of a key. */
interface Holding extends HeldMember {
  /** Its sample has other objects too. */
  readonly siblings: boolean;
}

function keysOf({ draft: { returning, arrivals } }: Returned): Map<number, ReturnedKeys> {
  const keys = new Map<number, ReturnedKeys>();
  for (const text of arrivals.read()) {
    const [key, , , sample, alone] = parseArrival(text);
    if (typeof sample !== 'number' || !returning.numbers.has(sample)) continue;
    const some = keys.get(sample) ?? { keys: [], alone: alone === 1 };
    keys.set(sample, some);
    some.keys.push(key);
  }
  return keys;
}

/** A key that is packed twice is not compared. */
async function membersOf(
  store: BlobStore,
  manifests: readonly Manifest[],
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Holding>> {
  const members = new Map<string, Holding>();
  const doubled = new Set<string>();
  for (const manifest of manifests)
    for await (const member of heldMembers(store, manifest, wanted)) {
      if (members.has(member.key)) doubled.add(member.key);
      members.set(member.key, member);
    }
  for (const key of doubled) members.delete(key);
  return members;
}

async function* heldMembers(
  store: BlobStore,
  manifest: Manifest,
  wanted: ReadonlySet<string>,
): AsyncGenerator<Holding> {
  const shards = await shardsWith(store, manifest, wanted);
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  for (const shard of manifest.shards) {
    if (!shards.has(shardNumberOf(shard.name))) continue;
    for (const line of await linesWithSiblings(store, keys, shard)) {
      const { key, etag, sha256, source, siblings } = line;
      // A source that the store copied has no digest.
      if (wanted.has(key) && !isCopied(line)) yield { key, etag, sha256: source?.sha256 ?? sha256, siblings };
    }
  }
}

/** The lines of objects, without copies, and whether their samples have further objects. */
async function linesWithSiblings(store: BlobStore, keys: PackingKeys, shard: Manifest['shards'][number]) {
  const objects = (await memberLines(store, keys, shard)).flatMap((line) => {
    const { key, etag, repeat } = line;
    return key === undefined || etag === undefined || repeat !== undefined ? [] : [{ ...line, key, etag }];
  });
  const counts = new Map<number, number>();
  for (const { sample } of objects) counts.set(sample, (counts.get(sample) ?? 0) + 1);
  return objects.map((line) => ({ ...line, siblings: (counts.get(line.sample) ?? 0) > 1 }));
}

async function shardsWith(
  store: BlobStore,
  manifest: Manifest,
  wanted: ReadonlySet<string>,
): Promise<ReadonlySet<number>> {
  const shards = new Set<number>();
  for await (const [key, , , shard] of sealedLines(store, manifest))
    if (typeof shard === 'number' && wanted.has(key)) shards.add(shard);
  return shards;
}
