/** One object into a file, in pieces: a model may be larger than memory. */

import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type BlobStore, listPages } from '@tidewheel/packing/store.ts';

const PIECE_BYTES = 16 * 2 ** 20;

interface Saving {
  readonly pieceBytes?: number;
  /** That the object must have. */
  readonly etag?: string | undefined;
}

/**
 * The file is there once it is whole.
 * @returns its bytes; undefined where there is no such object
 * @throws Error where the object is another one than it has to be
 * @throws Error where the object changed meanwhile, or arrived damaged
 */
export async function saveObject(
  store: BlobStore,
  key: string,
  file: string,
  { pieceBytes = PIECE_BYTES, etag }: Saving = {},
): Promise<number | undefined> {
  const head = await store.head(key);
  if (head === undefined) return undefined;
  if (etag !== undefined && head.etag !== etag)
    throw new Error(
      `s3://${store.bucket}/${key} was replaced after its run had ended: the run's report has the ETag ${etag}, and the object ${head.etag}`,
    );
  await mkdir(path.dirname(file), { recursive: true });
  const draft = `${file}.part`;
  try {
    await write(store, { key, draft, pieceBytes, ...head });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  return head.size;
}

interface Wanted {
  readonly key: string;
  readonly etag: string;
  readonly size: number;
  readonly draft: string;
  readonly pieceBytes: number;
}

async function write(store: BlobStore, { key, etag, size, draft, pieceBytes }: Wanted): Promise<void> {
  const check = size === 0 ? undefined : await store.wholeCheck(key, etag);
  const file = await open(draft, 'w');
  try {
    for (let offset = 0; offset < size; offset += pieceBytes) {
      const range = { offset, length: Math.min(pieceBytes, size - offset) };
      const found = await store.get(key, { ifMatch: etag, range });
      if (found.kind !== 'found')
        throw new Error(`s3://${store.bucket}/${key} is another object than before: run the command again`);
      for (const chunk of found.chunks) {
        check?.add(chunk);
        await file.writeFile(chunk);
      }
    }
    if (check !== undefined && !check.isIntact())
      throw new Error(`s3://${store.bucket}/${key} did not arrive whole: run the command again`);
  } finally {
    await file.close();
  }
}

/** The agent's own files, beside those of the script. */
const OWN = /^tidewheel-/;

/** The S3 console makes an empty object for a folder, also for that of the prefix itself. */
const isMarker = (name: string): boolean => name === '' || name.endsWith('/');

/**
 * The files that a script has saved where it ran: the model of a run whose declaration has `training.model: none`.
 * @param folder where they go; made if it is not there @throws Error where an object would land outside of it
 */
export async function fetchSavedFiles(store: BlobStore, prefix: string, folder: string) {
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
