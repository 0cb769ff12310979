/**
 * `onDelete: retract`: finds the packed objects that a listing no longer has, because their owner deleted them. What
 * `whenDone: delete` has deleted was not deleted by its owner.
 */

import { parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { bundlePlace } from '../arrivals/bundle-place.ts';
import { type DeletionBookmark, readBookmark } from '../arrivals/deletion-bookmark.ts';
import type { BlobStore, ListedBlob } from '../documents/blob-store.ts';
import type { Manifest, SealedLine } from '../documents/manifest.ts';
import { compareKeys } from '../documents/order.ts';
import { manifestsOf, type SealedGenerations } from '../documents/sealed-arrivals.ts';
import { inOrder, sealedLines } from '../documents/sealed-lines.ts';
import { batchOf } from '../documents/versions.ts';

interface Known {
  readonly manifest: Manifest;
  /** The dataset holds what it packed, or will after the next compaction. */
  readonly isHeld: boolean;
  /** The service deletes what it packed. */
  readonly isDeleting: boolean;
}

/** Walks the packed objects beside a listing. */
export class RemovedObjects {
  readonly #packed: AsyncGenerator<ListedBlob>;
  /** Runs have deleted what they packed, under a former declaration. */
  readonly isAnyDeletedByRun: boolean;
  #next: ListedBlob | undefined;
  #isOpen = false;

  constructor(packed: AsyncGenerator<ListedBlob>, isAnyDeletedByRun: boolean) {
    this.#packed = packed;
    this.isAnyDeletedByRun = isAnyDeletedByRun;
  }

  /**
   * @param key of each object of the listing, in order; undefined behind the last
   * @returns the packed objects in front of it that were not listed
   */
  async before(key: string | undefined): Promise<readonly ListedBlob[]> {
    if (!this.#isOpen) await this.#step();
    this.#isOpen = true;
    const removed: ListedBlob[] = [];
    for (; this.#next !== undefined; await this.#step()) {
      const order = key === undefined ? -1 : compareKeys(this.#next.key, key);
      if (order > 0) break;
      if (order < 0) removed.push(this.#next);
    }
    return removed;
  }

  async #step(): Promise<void> {
    const next = await this.#packed.next();
    this.#next = next.done === true ? undefined : next.value;
  }
}

export async function removedObjects(
  store: BlobStore,
  pipeline: string,
  sealed: SealedGenerations,
): Promise<RemovedObjects> {
  const deleting = await deletingRuns(store, pipeline, sealed);
  const bundles = new Set([...deleting.values()].flatMap((bookmark) => bookmark.bundles ?? []));
  const known = await knownGenerations(store, { pipeline, sealed, deleting });
  return new RemovedObjects(packedObjects(store, known, bundles), deleting.size > 0);
}

/** Oldest first. Those that a compaction has replaced say only what was deleted. */
async function knownGenerations(
  store: BlobStore,
  {
    pipeline,
    sealed: { manifests, replaced },
    deleting,
  }: {
    readonly pipeline: string;
    readonly sealed: SealedGenerations;
    readonly deleting: ReadonlyMap<string, DeletionBookmark>;
  },
): Promise<readonly Known[]> {
  const gone = await manifestsOf(
    store,
    pipeline,
    replaced.filter((name) => deleting.has(name)),
  );
  const all: Known[] = [
    ...manifests.map((manifest) => ({
      manifest,
      isHeld: manifest.pruned !== true,
      isDeleting: deleting.has(manifest.generation),
    })),
    ...gone.map((manifest) => ({ manifest, isHeld: false, isDeleting: true })),
  ];
  return all
    .filter(({ isHeld, isDeleting }) => isHeld || isDeleting)
    .sort((a, b) => batchOf(a.manifest.generation) - batchOf(b.manifest.generation));
}

const AT_ONCE = 64;

/** Runs that have begun to delete what they packed. */
async function deletingRuns(
  store: BlobStore,
  pipeline: string,
  { manifests, replaced }: SealedGenerations,
): Promise<ReadonlyMap<string, DeletionBookmark>> {
  const isOfRun = (name: string): boolean => parseGeneration(name)?.isCompacted === false;
  const runs = [...manifests.map(({ generation }) => generation), ...replaced].filter(isOfRun);
  const deleting = new Map<string, DeletionBookmark>();
  await eachLimited(runs, AT_ONCE, async (runId) => {
    const bookmark = await readBookmark(store, { pipeline, runId });
    if (bookmark !== undefined) deleting.set(runId, bookmark);
  });
  return deleting;
}

interface KnownLine {
  readonly line: SealedLine;
  readonly of: Known;
}

/** One object a key: the newest packed one. */
async function* packedObjects(
  store: BlobStore,
  all: readonly Known[],
  deletedBundles: ReadonlySet<string>,
): AsyncGenerator<ListedBlob> {
  let same: KnownLine[] = [];
  for await (const { line, age } of inOrder(all.map(({ manifest }) => sealedLines(store, manifest)))) {
    const of = all[age];
    if (of === undefined) continue;
    const [first] = same;
    if (first !== undefined && first.line[0] !== line[0]) {
      yield* packedIn(same, deletedBundles);
      same = [];
    }
    same.push({ line, of });
  }
  yield* packedIn(same, deletedBundles);
}

/** @param lines of one key, those of an ETag from the oldest generation to the newest */
function packedIn(lines: readonly KnownLine[], deletedBundles: ReadonlySet<string>): readonly ListedBlob[] {
  let newest: KnownLine | undefined;
  for (const one of lines) {
    if (!one.of.isHeld || !tells(one)) continue;
    if (newest === undefined || ageOf(one) >= ageOf(newest)) newest = one;
  }
  if (newest === undefined || newest.line[3] === 'removed') return [];
  const [key, etag, size] = newest.line;
  if (deletedBundles.has(bundlePlace(etag)?.bundle ?? '')) return [];
  const isDeletedByRun = lines.some(({ line, of }) => of.isDeleting && takes(line, etag));
  return isDeletedByRun ? [] : [{ key, etag, size, lastModified: '' }];
}

/** A compaction has left out what its own lines call removed, so they say nothing of what was packed since. */
const tells = ({ line: [, , , outcome], of }: KnownLine): boolean =>
  typeof outcome === 'number' || (outcome === 'removed' && of.manifest.compacted === undefined);

const ageOf = ({ of }: KnownLine): number => batchOf(of.manifest.generation);

/** Whether a run that deletes what it packed deletes the object, or one with the same bytes. */
const takes = ([, listed, , outcome, packed]: SealedLine, etag: string): boolean =>
  (typeof outcome === 'number' && listed === etag) || (outcome === 'unchanged' && packed === etag);
