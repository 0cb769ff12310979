/** The labels under which the dataset holds bytes that have arrived again. */
import type { BlobStore } from '../model/blob-store.ts';
import { parseArrival } from '../model/documents.ts';
import type { Manifest } from '../model/manifest.ts';
import { memberLines } from '../model/member-lines.ts';
import { packingKeys } from '../model/packing-keys.ts';
import { sealedLines } from '../model/sealed-lines.ts';
import { type HeldLabels, markOf } from './class-faults.ts';
import { labelledSamples } from './corrected-labels.ts';

interface HeldInput {
  /** Oldest first. */
  readonly manifests: readonly Manifest[];
  /** Undefined if bytes are not compared. */
  readonly marks: ReadonlySet<number> | undefined;
  /** Lines of the arrivals of the plan, which do not conflict with what they replace. */
  readonly planned: () => Iterable<string>;
  /** A newer object of a key replaces the older one. */
  readonly replaces: boolean;
}

interface HeldKey {
  readonly mark: number;
  readonly manifest: Manifest;
}

/** Reads the lists of arrivals, and the lists of members of generations that hold such bytes. */
export async function heldLabels(store: BlobStore, input: HeldInput): Promise<HeldLabels> {
  const { manifests, marks, planned, replaces } = input;
  const labels = new Map<number, Set<string>>();
  if (marks === undefined || marks.size === 0) return labels;
  const keys = new Map<string, HeldKey>();
  for (const manifest of manifests) await noteKeys(store, manifest, { keys, marks, replaces });
  if (keys.size > 0) for (const line of planned()) keys.delete(parseArrival(line)[0]);
  for (const manifest of new Set([...keys.values()].map((one) => one.manifest)))
    await noteLabels(store, manifest, { keys, labels });
  return labels;
}

interface Noted {
  readonly keys: Map<string, HeldKey>;
  readonly marks: ReadonlySet<number>;
  readonly replaces: boolean;
}

async function noteKeys(
  store: BlobStore,
  manifest: Manifest,
  { keys, marks, replaces }: Noted,
): Promise<void> {
  const found = new Map<string, HeldKey>();
  for await (const [key, etag, size, outcome] of sealedLines(store, manifest)) {
    if (outcome === 'removed' || outcome === 'retracted') keys.delete(key);
    if (typeof outcome !== 'number') continue;
    if (replaces) keys.delete(key);
    const mark = markOf(etag, size);
    if (manifest.pruned !== true && marks.has(mark)) found.set(key, { mark, manifest });
  }
  for (const [key, held] of found) keys.set(key, held);
}

interface Labelled {
  readonly keys: ReadonlyMap<string, HeldKey>;
  readonly labels: Map<number, Set<string>>;
}

async function noteLabels(store: BlobStore, manifest: Manifest, { keys, labels }: Labelled): Promise<void> {
  const packing = packingKeys(manifest.pipeline, manifest.generation);
  for (const shard of manifest.shards)
    for (const { objects, label } of labelledSamples(await memberLines(store, packing, shard)))
      for (const key of objects) {
        const held = keys.get(key);
        if (label === undefined || held?.manifest !== manifest) continue;
        labels.set(held.mark, (labels.get(held.mark) ?? new Set()).add(label));
      }
}
