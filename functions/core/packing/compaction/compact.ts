/** A whole compaction in one process, as `npm run dataset -- compact` does it. */
import type { BlobStore } from '../port.ts';
import type { UploadLimits } from '../shard-upload.ts';
import { takeIn, versionsIn } from '../versions.ts';
import { packCompaction } from './pack.ts';
import { type CompactionInput, itemsOf, planCompaction, readCompactionPlan } from './plan.ts';
import { type CompactionResult, sealCompaction } from './seal.ts';

export type Compacted = CompactionResult | { readonly status: 'nothingToCompact' };

export async function compact(
  store: BlobStore,
  input: CompactionInput,
  limits: { readonly upload?: UploadLimits; readonly readBytes?: number } = {},
): Promise<Compacted> {
  await takeIn(versionsIn(store), input.pipeline);
  const planned = await planCompaction(store, input);
  if (planned.status === 'nothingToCompact') return { status: 'nothingToCompact' };
  const { pipeline, packing } = input;
  const plan = await readCompactionPlan(store, pipeline, planned.generation);
  for (const item of itemsOf(plan)) await packCompaction({ store, ...limits }, { pipeline, packing, item });
  return sealCompaction(store, { pipeline, packing, generation: plan.generation });
}
