/** How far a run has deleted what it packed. A plan reads there what no owner has deleted. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { type BlobStore, readText } from '../documents/blob-store.ts';
import { DOCUMENT_VERSION, readDocument } from '../documents/documents.ts';

const bookmarkSchema = z.object({
  version: z.literal(DOCUMENT_VERSION),
  /** Position in the sealed lists of arrivals. */
  part: z.number().int(),
  line: z.number().int(),
  deleted: z.number().int(),
  /** Bundles that it deletes, whichever runs have packed them. Absent of earlier releases. */
  bundles: z.array(z.string()).optional(),
});
export type DeletionBookmark = Omit<z.infer<typeof bookmarkSchema>, 'version'>;

interface OfRun {
  readonly pipeline: string;
  readonly runId: string;
}

/** Undefined for a run that deletes nothing. */
export async function readBookmark(
  store: BlobStore,
  { pipeline, runId }: OfRun,
): Promise<DeletionBookmark | undefined> {
  const key = bucketKeys.deletion(pipeline, runId);
  const text = await readText(store, key);
  return text === undefined ? undefined : readDocument(kindOf(bookmarkSchema), key, text);
}

export async function writeBookmark(
  store: BlobStore,
  { pipeline, runId }: OfRun,
  at: DeletionBookmark,
): Promise<DeletionBookmark> {
  const body = Buffer.from(JSON.stringify({ version: DOCUMENT_VERSION, ...at }));
  await store.put(bucketKeys.deletion(pipeline, runId), body, { contentType: 'application/json' });
  return at;
}
