/** What lies among the shards and is none of the generation's. */
import { type BlobStore, listPages } from './port.ts';

/**
 * Removes shards of the plan that was there before, which have other names: the folder is a training channel, and they
 * would be trained on too. To be called before the manifest is written, and only once nobody packs that plan.
 */
export async function removeStrays(
  store: BlobStore,
  folder: string,
  shards: readonly { readonly name: string }[],
): Promise<void> {
  const ours = new Set(shards.map(({ name }) => `${folder}${name}`));
  for await (const page of listPages(store, folder))
    for (const { key } of page.objects) if (!ours.has(key)) await store.delete(key);
}
