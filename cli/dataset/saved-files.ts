/** The files that a script has saved where it ran: the model of a run whose declaration has `training.model: none`. */
import path from 'node:path';
import { type BlobStore, listPages } from '../../functions/core/packing/model/blob-store.ts';
import { saveObject } from './save-object.ts';

export interface SavedFiles {
  readonly files: readonly string[];
  readonly bytes: number;
}

/** The agent's own files, beside those of the script. */
const OWN = /^tidewheel-/;

/** The S3 console makes an empty object for a folder, also for that of the prefix itself. */
const isMarker = (name: string): boolean => name === '' || name.endsWith('/');

/** @param folder where they go; made if it is not there @throws Error where an object would land outside of it */
export async function fetchSavedFiles(store: BlobStore, prefix: string, folder: string): Promise<SavedFiles> {
  const files: string[] = [];
  let bytes = 0;
  for await (const { objects } of listPages(store, prefix)) {
    for (const { key } of objects) {
      const name = key.slice(prefix.length);
      if (OWN.test(name) || isMarker(name)) continue;
      const size = await saveObject(store, key, placeOf(folder, name));
      if (size === undefined) continue;
      files.push(name);
      bytes += size;
    }
  }
  return { files, bytes };
}

/** Scripts choose the names. */
function placeOf(folder: string, name: string): string {
  const file = path.resolve(folder, name);
  if (file.startsWith(`${path.resolve(folder)}${path.sep}`)) return file;
  throw new Error(`the script has saved "${name}", which lies outside of ${folder}`);
}
