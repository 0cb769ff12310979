/** Bundles of small files, as `tidewheel drop --bundle` writes them. */

import { type BundledFile, bundleKeys, makeBundle } from '@tidewheel/packing/bundles.ts';
import type { MemoryBlobStore } from '../fakes/memory-blob-store.ts';
import { PIPELINE } from './packing.ts';

/** @returns the keys of its two objects */
export function seedBundle(
  store: MemoryBlobStore,
  files: Readonly<Record<string, Uint8Array | string>>,
): { readonly id: string; readonly data: string; readonly index: string } {
  const bundled = Object.entries(files).map(
    ([key, body]): BundledFile => ({ key, body: typeof body === 'string' ? Buffer.from(body) : body }),
  );
  const { id, data, index } = makeBundle(bundled);
  const keys = bundleKeys(PIPELINE, id);
  store.seed(keys.data, data);
  store.seed(keys.index, index);
  return { id, ...keys };
}
