/** Runs a whole compaction in one process, for `tidewheel data compact`. */
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { noteRetraction } from '../arrivals/retractions.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { addSealed, blobVersions } from '../documents/versions.ts';
import { type PackCompactionDeps, packCompaction } from './compact-shards.ts';
import { type CompactionInput, itemsOf, planCompaction, readCompactionPlan } from './plan-compaction.ts';
import { type CompactionResult, sealCompaction } from './seal-compaction.ts';

export type Compacted = CompactionResult | { readonly status: 'nothingToCompact' };

export async function compact(
  store: BlobStore,
  input: CompactionInput,
  limits: Omit<PackCompactionDeps, 'store'> = {},
): Promise<Compacted> {
  await addSealed(blobVersions(store), input.pipeline);
  // Each run seals a whole list, without what is retracted.
  if (isUnpacked(input.packing)) {
    if (input.retracted !== undefined) await noteRetraction(store, input.pipeline, input.retracted);
    return { status: 'nothingToCompact' };
  }
  const planned = await planCompaction(store, input);
  if (planned.status === 'nothingToCompact') return { status: 'nothingToCompact' };
  const { pipeline, packing } = input;
  const plan = await readCompactionPlan(store, pipeline, planned.generation);
  for (const item of itemsOf(plan)) await packCompaction({ store, ...limits }, { pipeline, packing, item });
  return sealCompaction(store, { pipeline, packing, generation: plan.generation });
}
