import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { blobVersions } from '@tidewheel/packing/dataset.ts';
import type { MemoryBlobStore } from '../fakes/memory-blob-store.ts';

/** The same bucket as the control plane's ObjectStore, which a launch uses. */
export function controlView(
  store: MemoryBlobStore,
  pause: () => Promise<void> = () => Promise.resolve(),
): ObjectStore {
  const view = blobVersions(store);
  return {
    bucket: store.bucket,
    readText: async (key) => {
      await pause();
      const text = await view.read(key);
      return text === undefined ? undefined : { text, etag: '', lastModified: new Date(0) };
    },
    writeText: async (key, text) => {
      await pause();
      store.seed(key, text);
    },
    delete: () => Promise.reject(new Error('a launch deletes nothing')),
    createText: (key, text) => view.create(key, text),
    replaceText: () => Promise.reject(new Error('a launch replaces nothing')),
    digestOf: () => Promise.reject(new Error('a launch digests nothing')),
    readBytes: () => Promise.reject(new Error('a launch reads no bytes here')),
    createBytes: () => Promise.reject(new Error('a launch writes no bytes here')),
    list: async function* (prefix) {
      await pause();
      for (const key of store.keys(prefix)) yield { key, size: 0, etag: '', lastModified: new Date(0) };
    },
    listFolders: (prefix) => view.folders(prefix),
  };
}
