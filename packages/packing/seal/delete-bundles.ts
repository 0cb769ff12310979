/** Deletes the bundles of which every member is packed. A bundle with a member that is rejected or waits stays whole. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { bundleKeys, contentEtag } from '../arrivals/bundle-place.ts';
import { type Bundle, type Bundles, newer, openBundles } from '../arrivals/open-bundles.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { compareKeys } from '../documents/order.ts';
import { sealedGenerations } from '../documents/sealed-arrivals.ts';
import { blobVersions, newestVersion, waitingGenerations } from '../documents/versions.ts';
import { listInParallel } from '../plan/parallel-listing.ts';
import { sealedFates, sealedFilter } from '../plan/sealed-filter.ts';

/** @returns the names of the bundles that may be deleted */
export async function packedBundles(
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
export async function deleteBundles(
  store: BlobStore,
  pipeline: string,
  bundles: readonly string[],
): Promise<void> {
  for (const id of bundles) {
    const { data, index } = bundleKeys(pipeline, id);
    // An index without its data holds nothing, and deleteEmptyIndexes deletes it the next time.
    await store.delete(data);
    await store.delete(index);
  }
}

/** @param begun bundles that an earlier try deleted, of which it may have left an index */
export async function deleteEmptyIndexes(
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
