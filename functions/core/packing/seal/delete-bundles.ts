/** Deletes the bundles of which every member is packed. A bundle with a member that is rejected or waits stays whole. */

import { bundleKeys } from '../arrivals/bundle-place.ts';
import { type Bundle, openBundles } from '../arrivals/open-bundles.ts';
import type { BlobStore } from '../model/blob-store.ts';
import { sealedGenerations } from '../model/sealed-arrivals.ts';
import { blobVersions, newestVersion, waitingGenerations } from '../model/versions.ts';
import { sealedFates, sealedFilter, stateOfListed } from '../plan/sealed-filter.ts';

/**
 * Safe to repeat.
 * @returns how many were deleted
 */
export async function deleteBundles(
  deps: { readonly store: BlobStore; readonly now: () => Date },
  pipeline: string,
): Promise<number> {
  const { store } = deps;
  const bundles = await openBundles(deps, pipeline);
  if (bundles.all.length === 0) return 0;
  const versions = blobVersions(store);
  // Its compaction may still reject what it sealed.
  const newest = await newestVersion(versions, pipeline);
  if ((await waitingGenerations(versions, pipeline, newest)).length > 0) return 0;
  const { manifests } = await sealedGenerations(store, pipeline);
  const stateOf = sealedFilter(store, manifests, { onChange: 'replace' });
  const fateOf = sealedFates(store, manifests);
  const wanted = new Set<Bundle>();
  for (const { member, holders } of bundles.members()) {
    // What a newer version replaces goes with it.
    if (holders.every((bundle) => wanted.has(bundle))) continue;
    const state = await stateOfListed(stateOf, member);
    const isRejected = (await fateOf(member.key, member.etag)) === 'rejected';
    const isDone = state === 'superseded' || (state === 'sealed' && !isRejected);
    if (!isDone) for (const bundle of holders) wanted.add(bundle);
  }
  const done = bundles.all.filter((bundle) => !wanted.has(bundle));
  for (const { id } of done) {
    const { data, index } = bundleKeys(pipeline, id);
    // An index without its data holds nothing, and this deletes it the next time.
    await store.delete(data);
    await store.delete(index);
  }
  return done.length;
}
