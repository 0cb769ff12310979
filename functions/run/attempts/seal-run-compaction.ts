/** The SealCompaction state: seals the joined generation and announces it. */
import { sealCompaction } from '@tidewheel/packing/compact.ts';
import { announceCompaction } from './announce-compaction.ts';
import type { AnnounceDeps } from './announce-seal.ts';
import type { WithPacking } from './seal-run.ts';

export async function sealRunCompaction(
  deps: Pick<AnnounceDeps, 'timeline' | 'clock'> & { readonly withPacking: WithPacking },
  { runId, pipeline, generation }: { runId: string; pipeline: string; generation: string },
): Promise<{ readonly status: string }> {
  const sealed = await deps.withPacking(runId, ({ store, packing }) =>
    sealCompaction(store, { pipeline, packing, generation }),
  );
  return announceCompaction(deps, { runId }, sealed);
}
