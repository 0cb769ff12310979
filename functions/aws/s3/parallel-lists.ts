/**
 * An object store whose lists come from many readers at once. One page of 1,000 keys after the other takes minutes for
 * a million keys: the SDK needs 33 ms of a whole core for a page (Node.js 20, a busy machine), S3 100 to 200 ms.
 */

import { TransientError } from '@tidewheel/kit/errors.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { listInParallel } from '@tidewheel/packing/plan.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { isRetryable } from './errors.ts';
import { dataPath } from './open-store.ts';

export const inParallel = (store: ObjectStore): ObjectStore =>
  withParallelLists(store, async () => (await dataPath()).store);

export const withParallelLists = (store: ObjectStore, open: () => Promise<BlobStore>): ObjectStore => ({
  ...store,
  list: (prefix) => list(open, prefix),
});

async function* list(open: () => Promise<BlobStore>, prefix: string): AsyncGenerator<ListedObject> {
  try {
    for await (const { objects } of listInParallel(await open(), prefix))
      for (const { key, size, etag, lastModified } of objects)
        yield { key, size, etag, lastModified: new Date(lastModified) };
  } catch (error: unknown) {
    if (!isRetryable(error) || !(error instanceof Error)) throw error;
    throw new TransientError(error.message, { cause: error });
  }
}
