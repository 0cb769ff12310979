/**
 * Which samples of a generation of corrections the dataset holds. A compaction may have rejected some, and then an older
 * sample with some of the same objects is in their place.
 */
import { hash } from 'node:crypto';
import { contentEtag } from '../arrivals/bundle-place.ts';
import type { BlobStore } from '../model/blob-store.ts';
import type { MemberLine } from '../model/documents.ts';
import type { Manifest } from '../model/manifest.ts';
import { memberLines } from '../model/member-lines.ts';
import { arrivalOf } from '../model/order.ts';
import { packingKeys } from '../model/packing-keys.ts';

/** The objects of a sample and its label, whatever shard it lies in. */
function identityOf(lines: readonly MemberLine[]): string {
  const parts = lines.map(({ key, etag = '', label }) => [key, contentEtag(etag), label]);
  return hash('sha256', JSON.stringify(parts.map((part) => JSON.stringify(part)).sort()), 'base64');
}

/** Without copies. Reads one member list at a time. */
async function* samplesOf(store: BlobStore, manifest: Manifest): AsyncGenerator<readonly MemberLine[]> {
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  for (const shard of manifest.shards) {
    const samples = new Map<number, MemberLine[]>();
    for (const line of await memberLines(store, keys, shard)) {
      if (line.repeat !== undefined) continue;
      const lines = samples.get(line.sample);
      if (lines === undefined) samples.set(line.sample, [line]);
      else lines.push(line);
    }
    yield* samples.values();
  }
}

/**
 * Reads all member lists of both.
 * @param joined the generations that may hold its samples
 * @returns the arrivals of samples that none of them holds
 */
export async function arrivalsNotHeld(
  store: BlobStore,
  manifest: Manifest,
  joined: readonly Manifest[],
): Promise<ReadonlySet<string>> {
  const wanted = new Set<string>();
  for await (const lines of samplesOf(store, manifest)) wanted.add(identityOf(lines));
  for (const one of joined) for await (const lines of samplesOf(store, one)) wanted.delete(identityOf(lines));
  const arrivals = new Set<string>();
  if (wanted.size === 0) return arrivals;
  for await (const lines of samplesOf(store, manifest)) {
    if (!wanted.has(identityOf(lines))) continue;
    for (const { key, etag } of lines)
      if (key !== undefined && etag !== undefined) arrivals.add(arrivalOf(key, etag));
  }
  return arrivals;
}
