/**
 * A note of the last comparison of packed labels with a file of annotations. What it says stays true: generations never
 * change, and a changed file has another version. So a plan reads no member list again that was compared before.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import { type BlobStore, readText } from '../documents/blob-store.ts';
import { DOCUMENT_VERSION } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';

const comparedSchema = z.object({
  version: z.literal(DOCUMENT_VERSION),
  annotations: z.string(),
  /** All that were compared, oldest first. */
  generations: z.array(z.string()),
  /** The objects of each sample that is labelled otherwise. */
  corrected: z.array(z.array(z.string())),
});
export type ComparedLabels = Omit<z.infer<typeof comparedSchema>, 'version'>;

/** A generation that was repaired may have another plan. */
export const comparedName = ({ generation, plan }: Manifest): string => `${generation} ${plan}`;

/** Undefined where there is none, or none that this release reads: then all is compared again. */
export async function readCompared(store: BlobStore, pipeline: string): Promise<ComparedLabels | undefined> {
  const text = await readText(store, bucketKeys.comparedLabels(pipeline));
  return text === undefined ? undefined : comparedSchema.safeParse(parseJson(text)).data;
}

export async function writeCompared(
  store: BlobStore,
  pipeline: string,
  compared: ComparedLabels,
): Promise<void> {
  const body = Buffer.from(JSON.stringify({ version: DOCUMENT_VERSION, ...compared }));
  await store.put(bucketKeys.comparedLabels(pipeline), body, { contentType: 'application/json' });
}
