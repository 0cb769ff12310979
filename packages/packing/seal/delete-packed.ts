/**
 * DeletePacked: deletes the sources that a sealed generation packed. Rejected sources stay, because their owner may want
 * them. A bundle with a member that is rejected or waits stays whole. One call deletes for a limited time; a bookmark says
 * where the next one continues.
 */

import { hash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { bundleKeys, contentEtag } from '../arrivals/bundle-place.ts';
import { readBookmark, writeBookmark } from '../arrivals/deletion-bookmark.ts';
import { type Bundle, type Bundles, newer, openBundles } from '../arrivals/open-bundles.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { decompress, linesOf } from '../documents/compressed-lines.ts';
import type { MemberLine } from '../documents/documents.ts';
import { type Manifest, sealedLine } from '../documents/manifest.ts';
import { arrivalOf, compareKeys } from '../documents/order.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf, readSealedManifest, sealedGenerations } from '../documents/sealed-arrivals.ts';
import { listingsOf, memberLines, sealedLines, UNKNOWN_TIME } from '../documents/sealed-lines.ts';
import { blobVersions, newestVersion, waitingGenerations } from '../documents/versions.ts';
import { sealedFates, sealedFilter } from '../plan/new-arrivals.ts';
import { listInParallel } from '../plan/parallel-listing.ts';

const PARALLEL_DELETES = 64;
/** A function that dies repeats at most these deletes, which is harmless. */
const DELETES_PER_BOOKMARK = 20_000;

export interface Deletion {
  readonly status: 'more' | 'done';
  /** By this call and those before it. A bundle counts as one. */
  readonly deleted: number;
  /** Why nothing is deleted. */
  readonly kept?: string;
}

export interface DeletionDeps {
  readonly store: BlobStore;
  readonly isTimeUp: () => boolean;
  readonly deletesPerBookmark?: number;
}

export async function deletePacked(
  { store, isTimeUp, deletesPerBookmark = DELETES_PER_BOOKMARK }: DeletionDeps,
  run: { readonly pipeline: string; readonly runId: string },
): Promise<Deletion> {
  const { pipeline, runId } = run;
  const manifest = await readSealedManifest(store, pipeline, runId);
  if (manifest === undefined) return { status: 'done', deleted: 0 };
  if (await isOfFiles(store, pipeline)) return { status: 'done', deleted: 0, kept: OF_FILES };
  const rejected = await rejectedLater(store, manifest);
  if (rejected === 'unknown') return { status: 'done', deleted: 0 };
  // A plan must not take what is deleted from here on for deleted by its owner.
  let at =
    (await readBookmark(store, run)) ?? (await writeBookmark(store, run, { part: 0, line: 0, deleted: 0 }));
  while (at.part < manifest.arrivals.parts.length) {
    const lines = await linesOfPart(store, manifest, at.part);
    while (at.line < lines.length) {
      if (isTimeUp()) return { status: 'more', deleted: at.deleted };
      const next = lines.slice(at.line, at.line + deletesPerBookmark);
      const deleted = at.deleted + (await deleteEach(store, next, rejected));
      at = await writeBookmark(store, run, { ...at, line: at.line + next.length, deleted });
    }
    at = await writeBookmark(store, run, { ...at, part: at.part + 1, line: 0 });
  }
  const done = await packedBundles({ store, now: () => new Date(manifest.listedAt) }, pipeline);
  if (done.length > 0)
    await writeBookmark(store, run, { ...at, bundles: [...new Set([...(at.bundles ?? []), ...done])] });
  await deleteBundles(store, pipeline, done);
  await deleteEmptyIndexes(store, pipeline, at.bundles ?? []);
  return { status: 'done', deleted: at.deleted + done.length };
}

const OF_FILES = 'the newest version of the dataset consists of the files under incoming/ (packing: none)';

/** The files under `incoming/` are the dataset since the pipeline declares packing: none. */
async function isOfFiles(store: BlobStore, pipeline: string): Promise<boolean> {
  const newest = await newestVersion(blobVersions(store), pipeline);
  return (await manifestsOf(store, pipeline, newest?.generations ?? [])).some(isUnpacked);
}

/**
 * Arrivals that the compaction has rejected which added the generation to the dataset, and those whose samples the
 * dataset does not hold: of a rejected correction, some objects may be those of the sample that stays. Unknown before the
 * compaction, so that nothing may be deleted.
 */
async function rejectedLater(store: BlobStore, manifest: Manifest): Promise<ReadonlySet<string> | 'unknown'> {
  const { pipeline, generation, changes, shards, listedAt } = manifest;
  const rejected = new Set<string>();
  if (changes === undefined || shards.length === 0) return rejected;
  const newest = await newestVersion(blobVersions(store), pipeline);
  if (newest?.added[generation] === undefined) return 'unknown';
  const joined = (await manifestsOf(store, pipeline, newest.generations)).filter(
    ({ compacted }) => compacted !== undefined,
  );
  const notHeld = await arrivalsNotHeld(store, manifest, joined);
  for (const arrival of notHeld) rejected.add(arrival);
  for (const one of joined)
    for await (const arrival of rejectedOf(store, one, listedAt)) rejected.add(arrival);
  return rejected;
}

/** What a joined generation rejects of one listing. What earlier ones rejected may be packed now. */
async function* rejectedOf(store: BlobStore, joined: Manifest, listedAt: string): AsyncGenerator<string> {
  const listings = listingsOf(joined);
  for await (const [key, etag, , outcome, , listing = 0] of sealedLines(store, joined)) {
    if (typeof outcome === 'number' || outcome === 'unchanged') continue;
    const at = listings[listing];
    // A retraction keeps the listing of what was retracted first.
    if (at === listedAt || at === UNKNOWN_TIME || outcome === 'retracted') yield arrivalOf(key, etag);
  }
}

async function linesOfPart(store: BlobStore, manifest: Manifest, part: number): Promise<string[]> {
  const list = manifest.arrivals.parts[part]?.list ?? '';
  const key = `${bucketKeys.generation(manifest.pipeline, manifest.generation)}${list}`;
  const found = await store.get(key);
  if (found.kind !== 'found') throw new Error(`${key} is gone: restore it, and the deletion continues`);
  return [...linesOf(decompress(joinChunks(found.chunks)))];
}

/**
 * Each delete names the packed ETag (If-Match), so that a newer version of the key survives. A missing object counts as
 * deleted, so repeated deletes are harmless.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-deletes.html
 */
async function deleteEach(
  store: BlobStore,
  lines: readonly string[],
  rejected: ReadonlySet<string>,
): Promise<number> {
  let deleted = 0;
  await eachLimited(lines, PARALLEL_DELETES, async (line) => {
    const [key, etag, , fate] = sealedLine.parse(JSON.parse(line));
    if (rejected.has(arrivalOf(key, etag))) return;
    const isPacked = typeof fate === 'number' || fate === 'unchanged';
    const isObject = contentEtag(etag) === etag;
    if (isPacked && isObject && (await store.delete(key, etag)) === 'deleted') deleted += 1;
  });
  return deleted;
}

// Which samples of a generation of corrections the dataset holds. A compaction may have rejected some, and then an older
// sample with some of the same objects is in their place.

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
async function arrivalsNotHeld(
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

/** @returns the names of the bundles that may be deleted */
async function packedBundles(
  deps: { readonly store: BlobStore; readonly now: () => Date },
  pipeline: string,
): Promise<readonly string[]> {
  const { store } = deps;
  const bundles = await openBundles(deps, pipeline);
  if (bundles.all.length === 0) return [];
  const versions = blobVersions(store);
  // Its compaction may still reject what it sealed.
  const newest = await newestVersion(versions, pipeline);
  if ((await waitingGenerations(versions, pipeline, newest)).length > 0) return [];
  const { manifests } = await sealedGenerations(store, pipeline);
  const stateOf = sealedFilter(store, manifests, { onChange: 'replace' });
  const fateOf = sealedFates(store, manifests);
  const wanted = new Set<Bundle>();
  for (const { member, holders } of bundles.members()) {
    // What a newer version replaces goes with it.
    if (holders.every((bundle) => wanted.has(bundle))) continue;
    const state = await stateOf(member);
    const isRejected = (await fateOf(member.key, member.etag)) === 'rejected';
    const isDone = state === 'superseded' || (state === 'sealed' && !isRejected);
    if (!isDone) for (const bundle of holders) wanted.add(bundle);
  }
  if (wanted.size < bundles.all.length) await addHiding(wanted, { store, pipeline, bundles });
  return bundles.all.filter((bundle) => !wanted.has(bundle)).map(({ id }) => id);
}

/**
 * Bundles that hide an older object of the same key with other bytes. Without them, the next run would list that object
 * and take it for a correction.
 */
async function addHiding(
  wanted: Set<Bundle>,
  {
    store,
    pipeline,
    bundles,
  }: { readonly store: BlobStore; readonly pipeline: string; readonly bundles: Bundles },
): Promise<void> {
  const members = bundles.members();
  let next = members.next();
  for await (const { objects } of listInParallel(store, bucketKeys.incoming(pipeline)))
    for (const object of objects) {
      while (next.done !== true && compareKeys(next.value.member.key, object.key) < 0) next = members.next();
      if (next.done === true) return;
      const { member, holders } = next.value;
      const isHidden = member.key === object.key && newer(member, object) === member;
      if (!isHidden || contentEtag(member.etag) === object.etag) continue;
      for (const bundle of holders) wanted.add(bundle);
    }
}

/** Safe to repeat. */
async function deleteBundles(store: BlobStore, pipeline: string, bundles: readonly string[]): Promise<void> {
  for (const id of bundles) {
    const { data, index } = bundleKeys(pipeline, id);
    // An index without its data holds nothing, and deleteEmptyIndexes deletes it the next time.
    await store.delete(data);
    await store.delete(index);
  }
}

/** @param begun bundles that an earlier try deleted, of which it may have left an index */
async function deleteEmptyIndexes(
  store: BlobStore,
  pipeline: string,
  begun: readonly string[],
): Promise<void> {
  for (const id of begun) {
    const { data, index } = bundleKeys(pipeline, id);
    const left = await store.head(index);
    if (left !== undefined && (await store.head(data)) === undefined) await store.delete(index, left.etag);
  }
}
