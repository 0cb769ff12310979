/** A sealed generation as a run finds it: its manifest, and a version of the dataset that names it. */

import { bucketKeys, parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { addSealed, objectVersions } from '@tidewheel/packing/dataset.ts';

interface SealedShard {
  readonly name: string;
  readonly bytes: number;
}

/** @param manifest the fields that training reads */
export async function sealGeneration(
  store: ObjectStore,
  generation: string,
  manifest: {
    readonly shards: readonly SealedShard[];
    readonly splits?: readonly { readonly name: string }[] | undefined;
    readonly samples?: number;
  } = { shards: [{ name: '0.tar', bytes: 9 }] },
): Promise<void> {
  const pipeline = parseRunId(generation)?.pipeline;
  if (pipeline === undefined) throw new Error(`${generation} names no run`);
  await store.writeText(
    bucketKeys.manifest(pipeline, generation),
    JSON.stringify({ version: 1, ...manifest }),
  );
  await addSealed(objectVersions(store), pipeline);
}
