/**
 * What people have retracted, in order. A run in progress may have planned an object that no generation shows yet, so a
 * retraction is noted before anything is left out. A plan counts those before it; each later one holds for its samples.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { type BlobStore, type ListedBlob, listPages, readText } from '../documents/blob-store.ts';
import { DOCUMENT_VERSION, documentVersion, readDocument } from '../documents/documents.ts';
import { blobVersions } from '../documents/versions.ts';

const retractionSchema = z.object({ version: documentVersion, keys: z.array(z.string()) });

/** The keys of one retraction. */
export type Retraction = readonly string[];

const documentsOf = (store: BlobStore, pipeline: string): Promise<readonly string[]> =>
  blobVersions(store).keys(bucketKeys.retractions(pipeline));

/** All of them, the oldest first. @throws DocumentError */
export async function readRetractions(store: BlobStore, pipeline: string): Promise<readonly Retraction[]> {
  const documents = await documentsOf(store, pipeline);
  const texts = await Promise.all(documents.map((key) => readText(store, key)));
  return documents.map((key, index) => readDocument(kindOf(retractionSchema), key, texts[index] ?? '').keys);
}

/** @param known the number of older ones */
export const keysRetracted = (all: readonly Retraction[], known = 0): ReadonlySet<string> =>
  new Set(all.slice(known).flat());

export async function noteRetraction(
  store: BlobStore,
  pipeline: string,
  keys: Iterable<string>,
): Promise<void> {
  const text = `${JSON.stringify({ version: DOCUMENT_VERSION, keys: [...keys] })}\n`;
  for (;;) {
    const number = (await documentsOf(store, pipeline)).length + 1;
    const key = bucketKeys.retraction(pipeline, number);
    if ((await blobVersions(store).create(key, text)) === 'written') return;
  }
}

/** Whether a person retracted the object of this key since it arrived. */
export async function isRetractedSince(
  store: BlobStore,
  pipeline: string,
  { key, lastModified }: Pick<ListedBlob, 'key' | 'lastModified'>,
): Promise<boolean> {
  for await (const { objects } of listPages(store, bucketKeys.retractions(pipeline)))
    for (const document of objects) {
      if (Date.parse(document.lastModified) < Date.parse(lastModified)) continue;
      const text = await readText(store, document.key);
      if (readDocument(kindOf(retractionSchema), document.key, text ?? '').keys.includes(key)) return true;
    }
  return false;
}
