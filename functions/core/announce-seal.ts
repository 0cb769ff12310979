/** After the seal: the run knows its generation, the timeline and the bus are told. Safe to repeat. */
import type { SealResult } from './packing/seal.ts';
import type { Clock, Notifier } from './ports.ts';
import type { RunStore } from './run-store.ts';

export interface AnnounceDeps {
  readonly runs: RunStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

export async function announceSeal(
  deps: AnnounceDeps,
  run: { readonly runId: string; readonly pipeline: string },
  result: SealResult,
): Promise<SealResult> {
  if (result.shards === 0) return result;
  const { generation, samples, shards, rejected } = result;
  const at = deps.clock.now().toISOString();
  await deps.runs.updateRun(run.runId, { generation, updatedAt: at });
  const refused = rejected > 0 ? `, ${rejected} rejected (see its manifest)` : '';
  await deps.runs.addTimeline(run.runId, {
    id: 'sealed',
    at,
    kind: 'DatasetSealed',
    text: `${samples} samples in ${shards} shard${shards === 1 ? '' : 's'}${refused}`,
  });
  await deps.notifier.notify(run, { type: 'DatasetSealed', generation, samples, shards, rejected });
  return result;
}
