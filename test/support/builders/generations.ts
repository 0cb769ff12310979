/** Sealed generations, as training sees them. */
import { bucketKeys, parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import type { GenerationShards } from '../../../functions/records/run-dataset.ts';
import type { MemoryObjectStore } from '../fakes/object-store.ts';

export const generationAt = (
  shardsPrefix: string,
  shards: readonly string[] = ['00000.tar'],
): GenerationShards => ({
  shardsPrefix,
  shards,
  totals: { shards: shards.length, bytes: 1_000 * shards.length },
});

/** The first version of a dataset, which has this generation alone. */
export const putVersion = (store: MemoryObjectStore, generation: string): void =>
  store.put(
    bucketKeys.datasetVersion(parseGeneration(generation)?.pipeline ?? '', 1),
    JSON.stringify({
      version: 1,
      number: 1,
      change: { kind: 'sealed', generation },
      generations: [generation],
      replaced: [],
      pruned: [],
      added: { [generation]: 1 },
    }),
  );
