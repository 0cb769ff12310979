/** A sealed generation as a run finds it: its manifest, and a version of the dataset that names it. */
import { addSealed, objectVersions } from '../../../functions/core/packing/model/versions.ts';
import { bucketKeys, parseRunId } from '../../../functions/core/shared/keys.ts';
import type { ObjectStore } from '../../../functions/core/shared/ports.ts';

interface SealedShard {
  readonly name: string;
  readonly bytes: number;
}

/** @param manifest the fields that training reads */
export async function sealGeneration(
  store: ObjectStore,
  generation: string,
  manifest: { readonly shards: readonly SealedShard[] } = { shards: [{ name: '0.tar', bytes: 9 }] },
): Promise<void> {
  const pipeline = parseRunId(generation)?.pipeline;
  if (pipeline === undefined) throw new Error(`${generation} names no run`);
  await store.writeText(
    bucketKeys.manifest(pipeline, generation),
    JSON.stringify({ version: 1, ...manifest }),
  );
  await addSealed(objectVersions(store), pipeline);
}
