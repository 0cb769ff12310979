/**
 * An object store whose lists come from many readers at once. One page of 1,000 keys after the other takes minutes for
 * a million keys: S3 needs 100 to 200 ms for a page.
 */

import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { listInParallel } from '@tidewheel/packing/plan.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { dataPath } from './open-store.ts';

export const inParallel = (store: ObjectStore): ObjectStore =>
  withParallelLists(store, async () => (await dataPath()).store);

export const withParallelLists = (store: ObjectStore, open: () => Promise<BlobStore>): ObjectStore => ({
  ...store,
  list: (prefix) => list(open, prefix),
});

async function* list(open: () => Promise<BlobStore>, prefix: string): AsyncGenerator<ListedObject> {
  for await (const { objects } of listInParallel(await open(), prefix))
    for (const { key, size, etag, lastModified } of objects)
      yield { key, size, etag, lastModified: new Date(lastModified) };
}
