/** Sealed generations, as training sees them. */
import type { GenerationShards } from '../../../functions/records/run-dataset.ts';

export const generationAt = (
  shardsPrefix: string,
  shards: readonly string[] = ['00000.tar'],
): GenerationShards => ({
  shardsPrefix,
  shards,
  totals: { shards: shards.length, bytes: 1_000 * shards.length },
});
