/** Sealed generations, as training sees them. */
import type { GenerationShards } from '../../../functions/core/dataset/dataset.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';

export const generationAt = (
  shardsPrefix: string,
  shards: readonly string[] = ['00000.tar'],
): GenerationShards => ({
  shardsPrefix,
  shards,
  totals: { shards: shards.length, bytes: 1_000 * shards.length },
});

/** Key and text of the manifest of a generation with shards `0.tar`, `1.tar`, ... of these bytes. */
export const sealedManifest = (
  pipeline: string,
  generation: string,
  bytes: readonly number[],
): readonly [key: string, text: string] => [
  bucketKeys.manifest(pipeline, generation),
  JSON.stringify({
    version: 1,
    shards: bytes.map((each, index) => ({ name: `${index}.tar`, bytes: each })),
  }),
];
