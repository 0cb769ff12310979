/**
 * Reads what hosts and scripts write. A script owns its host, so such files may have any content, size and number. A
 * file beyond these bounds counts as not there.
 */

import { type HostDocument, type Reading, readDocument } from '@tidewheel/contract/document.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type * as z from 'zod';

/** Bounds one document each. docs/architecture.md names them all. */
const MOST_BYTES_OF = {
  /** The agent's longest, of progress with eight kept checkpoints of 500 files, has some 1 MB. */
  note: 8 * 2 ** 20,
  /** The agent ends a file of series at 16 MiB. */
  series: 32 * 2 ** 20,
  /** A host writes some 6 MB of points in 28 days. */
  points: 16e6,
  /** A function holds every sample of two such files. */
  scores: 16 * 2 ** 20,
} as const;

export const readBounded = (store: ObjectStore, key: string, document: keyof typeof MOST_BYTES_OF) =>
  store.readText(key, MOST_BYTES_OF[document]);

/** Of files that are read together. A host measures some 5 MB a day. */
const MOST_BYTES = 64e6;
export const MOST_FILES = 1_000;
/** A hundred pages of a listing. */
export const MOST_LISTED = 100_000;

/** @returns unreadable also where there is none */
export async function readNote<Schema extends z.ZodType>(
  store: ObjectStore,
  key: string,
  document: HostDocument<Schema>,
): Promise<Reading<z.output<Schema>>> {
  const stored = await readBounded(store, key, 'note');
  return readDocument(document, stored?.text ?? '');
}

export interface HostFile<Of> {
  readonly key: string;
  readonly bytes: number;
  readonly of: Of;
}

/** @param ofKey what the file of a key holds; undefined for another file */
export async function listHostFiles<Of>(
  store: ObjectStore,
  prefix: string,
  ofKey: (key: string) => Of | undefined,
): Promise<readonly HostFile<Of>[]> {
  const files: HostFile<Of>[] = [];
  let listed = 0;
  for await (const { key, size } of store.list(prefix)) {
    listed += 1;
    if (listed > MOST_LISTED) break;
    const of = ofKey(key);
    if (of !== undefined) files.push({ key, bytes: size, of });
  }
  return files;
}

/** In the order of their keys; of very many or very long ones the first have to do. */
export async function readHostFiles<Of>(
  store: ObjectStore,
  prefix: string,
  ofKey: (key: string) => Of | undefined,
): Promise<readonly { readonly of: Of; readonly text: string }[]> {
  let left = MOST_BYTES;
  const read = (await listHostFiles(store, prefix, ofKey))
    .filter(({ bytes }) => bytes <= MOST_BYTES_OF.series && (left -= bytes) >= 0)
    .slice(0, MOST_FILES);
  return Promise.all(
    read.map(async ({ key, of }) => ({ of, text: (await readBounded(store, key, 'series'))?.text ?? '' })),
  );
}
