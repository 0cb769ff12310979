/** The files that a script has saved where it ran: the model of a run whose declaration has `training.model: none`. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type BlobStore, joinChunks, listPages } from '../../functions/core/packing/model/blob-store.ts';

export interface SavedFiles {
  readonly files: readonly string[];
  readonly bytes: number;
}

/** The agent's own files, beside those of the script. */
const OWN = /^tidewheel-/;

/** @param folder where they go; made if it is not there @throws Error where an object would land outside of it */
export async function fetchSavedFiles(store: BlobStore, prefix: string, folder: string): Promise<SavedFiles> {
  const files: string[] = [];
  let bytes = 0;
  for await (const { objects } of listPages(store, prefix)) {
    for (const { key } of objects) {
      const name = key.slice(prefix.length);
      if (OWN.test(name) || name.endsWith('/')) continue;
      const found = await store.get(key);
      if (found.kind !== 'found') continue;
      const file = placeOf(folder, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, joinChunks(found.chunks));
      files.push(name);
      bytes += found.size;
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
