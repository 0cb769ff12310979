/**
 * An integer for each class: its place in the list of labels. A class keeps its number for ever, so a model that was
 * trained on an earlier version means the same by it. New classes follow, sorted.
 */
import { bucketKeys, parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { memberLines } from '../documents/member-lines.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { batchOf, blobVersions } from '../documents/versions.ts';
import { ClassCounter } from './class-counter.ts';

/** Numbers by their value, and before them nothing else than numbers. */
function compareLabels(a: string, b: string): number {
  const isNumber = /^\d{1,15}$/;
  if (isNumber.test(a) && isNumber.test(b)) return Number(a) - Number(b) || (a < b ? -1 : 1);
  return a < b ? -1 : 1;
}

/** @param before labels of the generation before, by number */
export function withNewLabels(before: readonly string[], found: Iterable<string>): string[] {
  const known = new Set(before);
  return [...before, ...[...found].filter((label) => !known.has(label)).sort(compareLabels)];
}

/**
 * The labels for a manifest: those of the generation before, then the new ones.
 * @param classes of this generation; without counts its labels are no classes, and the list stays as it was
 */
export async function labelNumbers(
  store: BlobStore,
  { pipeline, generation }: Pick<Manifest, 'pipeline' | 'generation'>,
  classes: ClassCounter,
): Promise<Pick<Manifest, 'labels'>> {
  const before = await labelsBefore(store, pipeline, generation);
  const labels = withNewLabels(before, classes.counts?.keys() ?? []);
  return labels.length === 0 ? {} : { labels };
}

/** The run before has sealed, because a run waits with packing until then. */
async function labelsBefore(store: BlobStore, pipeline: string, generation: string): Promise<string[]> {
  const folders = await blobVersions(store).folders(bucketKeys.dataset(pipeline));
  const earlier = folders
    .filter((name) => parseGeneration(name)?.isCompacted === false && batchOf(name) < batchOf(generation))
    .sort((a, b) => batchOf(b) - batchOf(a));
  const without: Manifest[] = [];
  for (const name of earlier) {
    const manifest = await readSealedManifest(store, pipeline, name);
    if (manifest?.labels !== undefined) return labelsOf(store, manifest.labels, without);
    if (manifest !== undefined) without.push(manifest);
  }
  return labelsOf(store, [], without);
}

/** Generations of an earlier release have no labels, nor have those without classes. Their lists say what they hold. */
async function labelsOf(
  store: BlobStore,
  before: readonly string[],
  without: readonly Manifest[],
): Promise<string[]> {
  let labels = [...before];
  for (const manifest of without.toReversed()) {
    const classes = new ClassCounter();
    const keys = packingKeys(manifest.pipeline, manifest.generation);
    for (const shard of manifest.pruned === true ? [] : manifest.shards)
      for (const line of await memberLines(store, keys, shard)) classes.add(line, shard.name);
    labels = withNewLabels(labels, classes.counts?.keys() ?? []);
  }
  return labels;
}

/** A joined generation has the labels of its newest input, which hold all others. */
export function newestLabels(joined: readonly Manifest[]): Pick<Manifest, 'labels'> {
  const [newest] = joined
    .filter(({ labels }) => labels !== undefined)
    .toSorted((a, b) => batchOf(b.generation) - batchOf(a.generation));
  return newest?.labels === undefined ? {} : { labels: newest.labels };
}
