/** Uploads small files as bundles. Killed anywhere, the next call makes the same bundles of what is not noted yet. */

import { readFile } from 'node:fs/promises';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { type BundledFile, bundleKeys, makeBundle } from '@tidewheel/packing/bundles.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import type { TakenFiles } from '../serve/taken-files.ts';
import type { DropProgress, DroppedFiles } from './drop-folder.ts';
import type { LocalFile } from './local-files.ts';

/** Each holds a bundle in memory, twice while it is put together. */
const MOST_AT_ONCE = 3;
const READS_AT_ONCE = 32;

interface BundleDrop {
  readonly store: BlobStore;
  readonly pipeline: string;
  readonly bundles: readonly (readonly LocalFile[])[];
  readonly journal: TakenFiles;
  readonly lanes: number;
  readonly signal: AbortSignal;
  readonly onProgress: (done: DropProgress) => void;
}

/** A bundle or file that fails does not stop the others. */
export async function dropBundles(drop: BundleDrop): Promise<DroppedFiles> {
  const { store, pipeline, journal, signal, onProgress } = drop;
  let [done, bytes] = [0, 0];
  const failed: { name: string; why: string }[] = [];
  await eachLimited(drop.bundles, Math.min(drop.lanes, MOST_AT_ONCE), async (files) => {
    if (signal.aborted) return;
    const { read, unread } = await readFiles(files);
    failed.push(...unread);
    if (read.length === 0) return;
    try {
      await putBundle(store, pipeline, read);
      await journal.addAll(read.map(({ file }) => file));
    } catch (error: unknown) {
      failed.push(...read.map(({ file }) => ({ name: file.name, why: messageOf(error) })));
      return;
    }
    done += read.length;
    bytes += read.reduce((sum, { body }) => sum + body.length, 0);
    onProgress({ files: done, bytes });
  });
  return { files: done, bytes, failed };
}

type ReadFile = BundledFile & { readonly file: LocalFile };

/** The index follows the data, because the service takes a bundle when its index is there. */
async function putBundle(store: BlobStore, pipeline: string, files: readonly ReadFile[]): Promise<void> {
  const { id, data, index } = makeBundle(files);
  const keys = bundleKeys(pipeline, id);
  await store.put(keys.data, data);
  await store.put(keys.index, index, { contentType: 'application/gzip' });
}

/** In their order. */
async function readFiles(files: readonly LocalFile[]): Promise<{
  readonly read: readonly ReadFile[];
  readonly unread: DroppedFiles['failed'];
}> {
  const bodies = files.map((): Buffer | undefined => undefined);
  const unread: { name: string; why: string }[] = [];
  await eachLimited(files.entries(), READS_AT_ONCE, async ([index, { path, name, size }]) => {
    try {
      const body = await readFile(path);
      if (body.length === size) bodies[index] = body;
      else unread.push({ name, why: `${name} changed while it was read` });
    } catch (error: unknown) {
      unread.push({ name, why: messageOf(error) });
    }
  });
  const read = files.flatMap((file, index) => {
    const body = bodies[index];
    return body === undefined ? [] : [{ file, key: file.name, body }];
  });
  return { read, unread };
}
