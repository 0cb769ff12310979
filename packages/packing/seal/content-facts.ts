/**
 * What the manifest says of the content, by the member lists. Samples of each class. An integer for each class: its place
 * in the list of labels. A class keeps its number for ever, so a model that was trained on an earlier version means the
 * same by it. New classes follow, sorted. Channels of prepared images, lines and tokens of text, where copies do not count.
 */

import { bucketKeys, parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { MemberLine, Plan } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { memberLines } from '../documents/sealed-lines.ts';
import { batchOf, blobVersions } from '../documents/versions.ts';
import { channelStatistics, PixelSums } from '../media/pixel-sums.ts';
import { splitOfShard } from '../splits/split-rule.ts';

export interface ClassCount {
  /** Different samples. */
  readonly samples: number;
  /** Further copies of them. */
  readonly copies: number;
}

/** More different labels than this are texts, not classes. */
const MOST_CLASSES = 10_000;

export class ClassCounter {
  #classes: Map<string, { samples: number; copies: number }> | undefined = new Map();
  /** A balance is that of the samples that train. */
  readonly #trained: ClassCounter | undefined;

  constructor(isSplit = false) {
    this.#trained = isSplit ? new ClassCounter() : undefined;
  }

  add(line: Pick<MemberLine, 'label' | 'repeat'>, shard: string): void {
    if (splitOfShard(shard) === 'train') this.#trained?.add(line, shard);
    const { label, repeat } = line;
    if (label === undefined || this.#classes === undefined) return;
    const count = this.#classes.get(label) ?? { samples: 0, copies: 0 };
    if (repeat === undefined) count.samples += 1;
    else count.copies += 1;
    this.#classes.set(label, count);
    if (this.#classes.size > MOST_CLASSES) this.#classes = undefined;
  }

  /** Sorted by name; undefined if the labels are not classes. */
  get counts(): ReadonlyMap<string, ClassCount> | undefined {
    return this.#classes && new Map([...this.#classes].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  sealedOf(label: string): number {
    if (this.#trained !== undefined) return this.#trained.sealedOf(label);
    const { samples, copies } = this.#classes?.get(label) ?? { samples: 0, copies: 0 };
    return samples + copies;
  }

  /** Samples of each class as planned, and as sealed. */
  sealedBalance({ balance }: Pick<Plan, 'balance'>): { readonly balance?: NonNullable<Plan['balance']> } {
    if (balance === undefined) return {};
    const classes = Object.entries(balance.classes).map(
      ([name, count]) => [name, { ...count, sealed: this.sealedOf(name) }] as const,
    );
    return { balance: { mode: balance.mode, classes: Object.fromEntries(classes) } };
  }
}

/** Numbers by their value, and before them nothing else than numbers. */
function compareLabels(a: string, b: string): number {
  const isNumber = /^\d{1,15}$/;
  if (isNumber.test(a) && isNumber.test(b)) return Number(a) - Number(b) || (a < b ? -1 : 1);
  return a < b ? -1 : 1;
}

/** @param before labels of the generation before, by number */
function withNewLabels(before: readonly string[], found: Iterable<string>): string[] {
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

export class ContentFacts {
  readonly #pixels = new PixelSums();
  #images = 0;
  #texts = 0;
  #lines = 0;
  #tokens = 0;

  add({ media, repeat }: Pick<MemberLine, 'media' | 'repeat'>): void {
    if (media === undefined || repeat !== undefined) return;
    if (media.mean !== undefined) this.#images += 1;
    this.#pixels.addImage(media);
    if (media.lines === undefined) return;
    this.#texts += 1;
    this.#lines += media.lines;
    this.#tokens += media.tokens ?? 0;
  }

  /** As part of a manifest; empty if nothing is known. */
  get sealed(): Pick<Manifest, 'content'> {
    const pixels = this.#pixels.stored;
    const images = pixels && {
      images: { count: this.#images, pixels: pixels.pixels, ...channelStatistics(pixels) },
    };
    const text =
      this.#texts === 0
        ? undefined
        : { text: { members: this.#texts, lines: this.#lines, tokens: this.#tokens } };
    return images === undefined && text === undefined ? {} : { content: { ...images, ...text } };
  }
}
